use pointwork_guest::{Failure, Pieces, Sse, SseEvent, Streamed, controller};

struct News;

#[controller("news")]
impl News {
    #[get]
    fn events() -> Streamed<impl Pieces> {
        Sse::iter([Ok::<_, Failure>(SseEvent::data("text"))])
    }

    #[get("texts")]
    fn texts() -> Streamed<impl Pieces> {
        Sse::iter(["data: text\n\n"])
    }
}

fn main() {}
