use pointwork_guest::channel;

pub struct Names;

#[cfg(not(feature = "async"))]
#[channel("names")]
impl Names {
    #[on("same")]
    fn same(name: String) -> String {
        name
    }
}

#[cfg(feature = "async")]
#[channel("names")]
impl Names {
    #[on("same")]
    async fn same(name: String) -> String {
        name
    }
}
