//! Types of requests and replies besides those of the catalogue, and their validation.

use catalogue::{Change, NewProduct, Product};
use pointwork_guest::{Failure, HttpStatus};
use serde::{Deserialize, Serialize};

/// The fields of a product that a client wants to change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fields {
    pub sku: Option<String>,
    pub name: Option<String>,
    pub price_cents: Option<i64>,
    pub description: Option<String>,
}

/// One page of the catalogue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    pub products: Vec<Product>,
    /// Counted from 1.
    pub page: u32,
    pub per_page: u32,
    /// The number of products on all pages.
    pub total: u64,
}

/// The maximum length of an SKU or name, in characters.
const LONGEST: usize = 200;

impl Fields {
    /// Validates the fields and converts them into a change.
    ///
    /// # Errors
    ///
    /// 422 with the field and what was expected.
    pub fn change(self, id: u64) -> Result<Change, Failure> {
        self.check()?;
        let Self {
            sku,
            name,
            price_cents,
            description,
        } = self;
        Ok(Change {
            id,
            sku,
            name,
            price_cents,
            description,
        })
    }

    /// Validates the fields.
    ///
    /// # Errors
    ///
    /// As [`change`](Self::change).
    pub fn check(&self) -> Result<(), Failure> {
        for (field, text) in [("sku", &self.sku), ("name", &self.name)] {
            let Some(text) = text else { continue };
            if text.trim().is_empty() || text.chars().count() > LONGEST {
                return Err(unfit(field, &format!("1 to {LONGEST} characters")));
            }
        }
        if let Some(price) = self.price_cents.filter(|price| *price < 0) {
            return Err(unfit("price_cents", &format!("0 or more, got {price}")));
        }
        Ok(())
    }
}

impl From<NewProduct> for Fields {
    fn from(new: NewProduct) -> Self {
        Self {
            sku: Some(new.sku),
            name: Some(new.name),
            price_cents: Some(new.price_cents),
            description: Some(new.description),
        }
    }
}

fn unfit(field: &str, expected: &str) -> Failure {
    Failure::new(
        HttpStatus::UNPROCESSABLE_ENTITY,
        format!("body: `{field}`: expected {expected}"),
    )
}
