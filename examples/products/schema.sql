-- Run at every start of the server, in one transaction, so every statement must be repeatable.

CREATE TABLE IF NOT EXISTS products (
    id INTEGER PRIMARY KEY,
    sku TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    price_cents INTEGER NOT NULL CHECK (price_cents >= 0),
    description TEXT NOT NULL DEFAULT ''
);

CREATE TABLE IF NOT EXISTS product_views (
    product_id INTEGER PRIMARY KEY REFERENCES products (id) ON DELETE CASCADE,
    views INTEGER NOT NULL
);

-- The first products, if there are none.
INSERT INTO products (sku, name, price_cents, description)
SELECT column1, column2, column3, column4
FROM (VALUES
    ('TEA-ASSAM', 'Assam', 690, 'Black tea from the Brahmaputra valley, 100 g'),
    ('TEA-SENCHA', 'Sencha', 980, 'Green tea, steamed, 100 g'),
    ('TEA-OOLONG', 'Dong Ding', 1450, 'Oolong tea, lightly roasted, 50 g'),
    ('POT-CAST', 'Cast iron teapot', 4900, 'Holds 0.8 l, with a strainer'),
    ('CUP-GLASS', 'Glass cup', 750, 'Double walled, 0.25 l')
)
WHERE NOT EXISTS (SELECT 1 FROM products);
