//! The first products, the same as in `schema.sql`.

/// SKU, name, price in cents, description.
pub(crate) const PRODUCTS: [(&str, &str, i64, &str); 5] = [
    (
        "TEA-ASSAM",
        "Assam",
        690,
        "Black tea from the Brahmaputra valley, 100 g",
    ),
    ("TEA-SENCHA", "Sencha", 980, "Green tea, steamed, 100 g"),
    ("TEA-OOLONG", "Dong Ding", 1450, "Oolong tea, lightly roasted, 50 g"),
    ("POT-CAST", "Cast iron teapot", 4900, "Holds 0.8 l, with a strainer"),
    ("CUP-GLASS", "Glass cup", 750, "Double walled, 0.25 l"),
];

#[cfg(test)]
mod tests {
    use super::PRODUCTS;

    #[test]
    fn both_databases_begin_with_the_same_products() {
        let schema = include_str!("../../schema.sql");
        let rows: Vec<&str> = schema
            .lines()
            .filter_map(|line| Some(line.trim().strip_prefix("('")?.trim_end_matches(',')))
            .collect();
        let seed = PRODUCTS.map(|(sku, name, price, text)| format!("{sku}', '{name}', {price}, '{text}')"));
        assert_eq!(rows, seed);
    }
}
