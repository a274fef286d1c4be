//! The names of a channel in the server.

/// Names that another program may read. A channel may have characters that a subject or a stream cannot.
pub(crate) struct Names {
    prefix: String,
    channel: String,
}

impl Names {
    pub(crate) fn new(prefix: &str, channel: &str) -> Self {
        Self {
            prefix: token(prefix),
            channel: token(channel),
        }
    }

    pub(crate) fn stream(&self) -> String {
        format!("{}-events-{}", self.prefix, self.channel)
    }

    pub(crate) fn dead_stream(&self) -> String {
        format!("{}-dead-{}", self.prefix, self.channel)
    }

    pub(crate) fn subjects(&self) -> String {
        format!("{}.events.{}.*", self.prefix, self.channel)
    }

    pub(crate) fn subject(&self, partition: u16) -> String {
        format!("{}.events.{}.{partition}", self.prefix, self.channel)
    }

    pub(crate) fn dead_subjects(&self) -> String {
        format!("{}.dead.{}.*", self.prefix, self.channel)
    }

    pub(crate) fn dead_subject(&self, id: &str) -> String {
        format!("{}.dead.{}.{}", self.prefix, self.channel, token(id))
    }

    pub(crate) fn call(&self, event: &str) -> String {
        format!("{}.call.{}.{}", self.prefix, self.channel, token(event))
    }

    pub(crate) fn calls(&self) -> String {
        format!("{}.call.{}.*", self.prefix, self.channel)
    }

    pub(crate) fn consumer(partition: Option<u16>) -> String {
        partition.map_or_else(|| "all".to_owned(), |partition| partition.to_string())
    }
}

/// A text as one token of a subject, and as a part of a stream's name: letters, digits and hyphens stay, any other byte is `_` and two
/// hex digits.
fn token(text: &str) -> String {
    let mut token = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'-' {
            token.push(char::from(byte));
        } else {
            token.push_str(&format!("_{byte:02x}"));
        }
    }
    token
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_names_have_different_tokens() {
        let names = Names::new("shop", "mail");
        assert_eq!(names.subject(3), "shop.events.mail.3");
        assert_eq!(names.dead_subject("mail:order:7"), "shop.dead.mail.mail_3aorder_3a7");
        assert_ne!(token("a.b"), token("a_2eb"));
        assert_eq!(token("*>. \n"), "_2a_3e_2e_20_0a");
    }
}
