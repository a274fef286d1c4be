pointwork_guest::events! {
    pub Empty = "": ();
    pub EmptyPart = "db::all": ();
    pub Space = "db: all": ();
}

pointwork_guest::events! {
    pub Typed = "db:typed": u64;
}

fn call(ctx: &pointwork_guest::Context) {
    ctx.emit::<Typed>("text");
    let _ = ctx.call::<Typed>(7);
}

fn main() {}
