//! HTTP/2: fields, pseudo-fields, and frames.

use std::net::SocketAddr;

use super::{Kind, Row};
use crate::client::{Frame, Frames};

super::rows! {
    Stream h2_get "9113 8.3.1" ":method GET;:scheme http;:path /it;:authority a" => "200 +" sees "GET /it a ";
    Stream h2_post "9113 8.1" ":method POST;:scheme http;:path /it;:authority a#12345" => "200 +" sees "POST /it a 12345";
    Stream h2_any_order "9113 8.3" ":authority a;:path /it;:scheme http;:method GET" => "200 +" sees "GET /it a ";
    Stream h2_pseudo_behind_a_field "9113 8.3" ":method GET;:scheme http;x y;:path /it;:authority a" => "reset +";
    Stream h2_method_twice "9113 8.3" ":method GET;:method GET;:scheme http;:path /it;:authority a" => "reset +";
    Stream h2_path_twice "9113 8.3" ":method GET;:scheme http;:path /it;:path /it;:authority a" => "reset +";
    Stream h2_scheme_twice "9113 8.3" ":method GET;:scheme http;:scheme http;:path /it;:authority a" => "reset +";
    Stream h2_authority_twice "9113 8.3" ":method GET;:scheme http;:path /it;:authority a;:authority a" => "reset +";
    Stream h2_without_method "9113 8.3.1" ":scheme http;:path /it;:authority a" => "reset +";
    Stream h2_without_scheme "9113 8.3.1" ":method GET;:path /it;:authority a" => "reset +";
    Stream h2_without_path "9113 8.3.1" ":method GET;:scheme http;:authority a" => "reset +";
    Stream h2_empty_path "9113 8.3.1" ":method GET;:scheme http;:path ;:authority a" => "reset +";
    Stream h2_path_without_a_slash "9113 8.3.1" ":method GET;:scheme http;:path it;:authority a" => "400 + or reset +";
    Stream h2_path_with_a_blank "9113 8.3.1" ":method GET;:scheme http;:path /i t;:authority a" => "reset +";
    Stream h2_path_with_nul "9113 8.3.1" ":method GET;:scheme http;:path /i\0t;:authority a" => "reset +";
    Stream h2_path_with_a_bad_escape "9113 8.3.1" ":method GET;:scheme http;:path /%zz;:authority a" => "400 +";
    Stream h2_asterisk_for_options "9113 8.3.1" ":method OPTIONS;:scheme http;:path *;:authority a" => "204 +";
    Stream h2_asterisk_for_get "9113 8.3.1" ":method GET;:scheme http;:path *;:authority a" => "400 +";
    Stream h2_empty_method "9113 8.3.1" ":method ;:scheme http;:path /it;:authority a" => "reset + or end";
    Stream h2_method_with_a_blank "9113 8.3.1" ":method GE T;:scheme http;:path /it;:authority a" => "reset + or end";
    Stream h2_bad_scheme "9113 8.3.1" ":method GET;:scheme h t;:path /it;:authority a" => "reset +";
    Stream h2_unknown_pseudo "9113 8.3" ":method GET;:scheme http;:path /it;:authority a;:x y" => "reset + or end";
    Stream h2_pseudo_of_replies "9113 8.3" ":method GET;:scheme http;:path /it;:authority a;:status 200" => "reset +";
    Stream h2_protocol_that_was_not_offered "9113 8.5" ":method CONNECT;:protocol websocket;:scheme http;:path /it;:authority a" => "reset +";
    Stream h2_host_for_authority "9113 8.3.1" ":method GET;:scheme http;:path /it;host a" => "200 +" sees "GET /it a ";
    Stream h2_host_beside_authority "9113 8.3.1" ":method GET;:scheme http;:path /it;:authority a;host a" => "200 +" sees "GET /it a ";
    Stream h2_host_that_is_not_the_authority "9113 8.3.1" ":method GET;:scheme http;:path /it;:authority a;host b" => "400 +";
    Stream h2_neither_host_nor_authority "9113 8.3.1" ":method GET;:scheme http;:path /it" => "400 +";
    Stream h2_two_hosts "9113 8.3.1" ":method GET;:scheme http;:path /it;:authority a;host a;host a" => "400 +";
    Stream h2_empty_authority "9113 8.3.1" ":method GET;:scheme http;:path /it;:authority " => "400 + or reset +";
    Stream h2_authority_with_a_port "9113 8.3.1" ":method GET;:scheme http;:path /it;:authority a:65535" => "200 +" sees "GET /it a:65535 ";
    Stream h2_authority_with_ipv6 "9113 8.3.1" ":method GET;:scheme http;:path /it;:authority [::1]:80" => "200 +" sees "GET /it [::1]:80 ";
    Stream h2_authority_of_a_user "9113 8.3.1" ":method GET;:scheme http;:path /it;:authority user@a" => "400 +";
    Stream h2_authority_with_port_65536 "9113 8.3.1" ":method GET;:scheme http;:path /it;:authority a:65536" => "400 + or reset +";
    Stream h2_authority_with_a_port_of_letters "9113 8.3.1" ":method GET;:scheme http;:path /it;:authority a:http" => "400 + or reset +";
    Stream h2_authority_of_a_port_alone "9113 8.3.1" ":method GET;:scheme http;:path /it;:authority :80" => "400 + or reset +";
    Stream h2_authority_with_a_bad_ipv6 "9113 8.3.1" ":method GET;:scheme http;:path /it;:authority [::g]" => "400 + or reset +";
    Stream h2_authority_with_an_open_ipv6 "9113 8.3.1" ":method GET;:scheme http;:path /it;:authority [::1" => "400 + or reset +";
    Stream h2_authority_with_a_blank "9113 8.3.1" ":method GET;:scheme http;:path /it;:authority a b" => "400 + or reset +";
    Stream h2_connect "9113 8.5" ":method CONNECT;:authority a:80" => "200 +";
    Stream h2_connect_without_a_port "9113 8.5" ":method CONNECT;:authority a" => "400 +";
    Stream h2_connect_with_a_path "9113 8.5" ":method CONNECT;:scheme http;:path /it;:authority a:80" => "reset +";
    Stream h2_name_in_upper_case "9113 8.2.1" ":method GET;:scheme http;:path /it;:authority a;X y" => "reset + or end";
    Stream h2_name_with_one_upper_case_letter "9113 8.2.1" ":method GET;:scheme http;:path /it;:authority a;contEnt-type y" => "reset + or end";
    Stream h2_name_with_a_colon "9113 8.2.1" ":method GET;:scheme http;:path /it;:authority a;x:y z" => "reset + or end";
    Stream h2_name_with_nul "9113 8.2.1" ":method GET;:scheme http;:path /it;:authority a;x\0 y" => "reset + or end";
    Stream h2_value_with_nul "9113 8.2.1" ":method GET;:scheme http;:path /it;:authority a;x y\0z" => "reset + or end";
    Stream h2_value_with_a_cr "9113 8.2.1" ":method GET;:scheme http;:path /it;:authority a;x y\rz" => "reset + or end";
    Stream h2_value_with_a_lf "9113 8.2.1" ":method GET;:scheme http;:path /it;:authority a;x y\nz" => "reset + or end";
    Stream h2_value_beyond_ascii "9113 8.2.1" ":method GET;:scheme http;:path /it;:authority a;x \u{e9}" => "200 +";
    Stream h2_value_behind_a_blank "9113 8.2.1" ":method GET;:scheme http;:path /it;:authority a;x  y" => "400 + or reset +";
    Stream h2_value_before_a_tab "9113 8.2.1" ":method GET;:scheme http;:path /it;:authority a;x y\t" => "400 + or reset +";
    Stream h2_connection "9113 8.2.2" ":method GET;:scheme http;:path /it;:authority a;connection close" => "400 + or reset +";
    Stream h2_keep_alive "9113 8.2.2" ":method GET;:scheme http;:path /it;:authority a;keep-alive 5" => "400 + or reset +";
    Stream h2_proxy_connection "9113 8.2.2" ":method GET;:scheme http;:path /it;:authority a;proxy-connection close" => "400 + or reset +";
    Stream h2_upgrade "9113 8.2.2" ":method GET;:scheme http;:path /it;:authority a;upgrade h2c" => "400 + or reset +";
    Stream h2_transfer_encoding "9113 8.2.2" ":method POST;:scheme http;:path /it;:authority a;transfer-encoding chunked#12345" => "400 + or reset +";
    Stream h2_te_of_trailers "9113 8.2.2" ":method GET;:scheme http;:path /it;:authority a;te trailers" => "200 +";
    Stream h2_te_of_chunked "9113 8.2.2" ":method GET;:scheme http;:path /it;:authority a;te chunked" => "400 + or reset +";
    Stream h2_te_of_a_list "9113 8.2.2" ":method GET;:scheme http;:path /it;:authority a;te trailers, gzip" => "400 + or reset +";
    Stream h2_cookies_in_crumbs "9113 8.2.3" ":method GET;:scheme http;:path /it;:authority a;cookie a=1;cookie b=2" => "200 +";
    Stream h2_length "9113 8.1.1" ":method POST;:scheme http;:path /it;:authority a;content-length 5#12345" => "200 +" sees "POST /it a 12345";
    Stream h2_length_of_no_body "9113 8.1.1" ":method GET;:scheme http;:path /it;:authority a;content-length 0" => "200 +";
    Stream h2_length_beyond_the_body "9113 8.1.1" ":method POST;:scheme http;:path /it;:authority a;content-length 6#12345" => "400 + or reset +";
    Stream h2_length_below_the_body "9113 8.1.1" ":method POST;:scheme http;:path /it;:authority a;content-length 4#12345" => "400 + or reset +";
    Stream h2_length_without_a_body "9113 8.1.1" ":method GET;:scheme http;:path /it;:authority a;content-length 5" => "400 + or reset +";
    Stream h2_length_that_is_no_number "9113 8.1.1" ":method POST;:scheme http;:path /it;:authority a;content-length x#12345" => "400 + or reset +";
    Stream h2_length_with_a_sign "9113 8.1.1" ":method POST;:scheme http;:path /it;:authority a;content-length +5#12345" => "400 + or reset +";
    Stream h2_length_list "9113 8.1.1" ":method POST;:scheme http;:path /it;:authority a;content-length 5, 5#12345" => "400 + or reset +";
    Stream h2_length_twice "9113 8.1.1" ":method POST;:scheme http;:path /it;:authority a;content-length 5;content-length 5#12345" => "400 + or reset +";

    Frames h2_an_unknown_frame "9113 5.5" "fe 0 1 00" => "+";
    Frames h2_a_ping "9113 6.7" "06 0 0 0001020304050607" => "+";
    Frames h2_priority_of_an_idle_stream "9113 6.3" "02 0 5 000000000a" => "+";
    Frames h2_data_of_the_connection "9113 6.1" "00 1 0 00" => "end";
    Frames h2_data_of_an_idle_stream "9113 5.1" "00 1 5 00" => "end";
    Frames h2_headers_of_the_connection "9113 6.2" "01 5 0 82" => "end";
    Frames h2_headers_of_an_even_stream "9113 5.1.1" "01 5 2 828684" => "end";
    Frames h2_headers_of_a_closed_stream "9113 5.1.1" "01 5 5 82868441016100;01 5 1 828684410161" => "end";
    Frames h2_padding_beyond_the_frame "9113 6.1" "01 d 1 ff82868441" => "end";
    Frames h2_reset_of_the_connection "9113 6.4" "03 0 0 00000008" => "end";
    Frames h2_reset_of_an_idle_stream "9113 6.4" "03 0 5 00000008" => "end";
    Frames h2_reset_of_3_bytes "9113 6.4" "03 0 1 000000" => "end";
    Frames h2_settings_of_a_stream "9113 6.5" "04 0 1 " => "end";
    Frames h2_settings_of_5_bytes "9113 6.5" "04 0 0 0003000000" => "end";
    Frames h2_settings_that_are_acknowledged_with_a_payload "9113 6.5" "04 1 0 000300000001" => "end";
    Frames h2_settings_of_push_2 "9113 6.5.2" "04 0 0 000200000002" => "end";
    Frames h2_settings_of_a_window_of_32_bits "9113 6.5.2" "04 0 0 000480000000" => "end";
    Frames h2_settings_of_short_frames "9113 6.5.2" "04 0 0 000500000064" => "end";
    Frames h2_an_unknown_setting "9113 6.5.2" "04 0 0 00ff00000001" => "+";
    Frames h2_a_push_of_the_client "9113 8.4" "05 4 1 00000002828684" => "end";
    Frames h2_a_ping_of_a_stream "9113 6.7" "06 0 1 0001020304050607" => "end";
    Frames h2_a_ping_of_7_bytes "9113 6.7" "06 0 0 00010203040506" => "end";
    Frames h2_goaway_of_a_stream "9113 6.8" "07 0 1 0000000000000000" => "end";
    Frames h2_a_window_that_grows_by_0 "9113 6.9" "08 0 0 00000000" => "end";
    Frames h2_a_window_that_grows_by_3_bytes "9113 6.9" "08 0 0 000001" => "end";
    Frames h2_a_window_beyond_31_bits "9113 6.9.1" "08 0 0 7fffffff;08 0 0 7fffffff" => "end";
    Frames h2_a_window_of_an_idle_stream "9113 5.1" "08 0 5 00000001" => "end";
    Frames h2_a_continuation_of_nothing "9113 6.10" "09 4 1 82" => "end";
    Frames h2_a_ping_within_a_head "9113 6.10" "01 1 1 828684;06 0 0 0001020304050607" => "end";
    Frames h2_a_continuation_of_another_stream "9113 6.10" "01 1 1 828684;09 4 5 410161" => "end";
    Frames h2_a_field_of_index_0 "9113 4.3" "01 5 1 80" => "end";
    Frames h2_a_field_beyond_the_table "9113 4.3" "01 5 1 ff10" => "end";
    Frames h2_a_table_beyond_the_settings "9113 4.3" "01 5 1 3fffffff0f828684410161" => "end";
    Frames h2_a_field_that_breaks_off "9113 4.3" "01 5 1 00057879" => "end";
}

/// Sends the row on stream 1 and a request on stream 3, and judges the answers to both.
pub(super) async fn run(row: &'static Row, address: SocketAddr) -> Result<(), String> {
    let answer = exchange(row, address)
        .await
        .map_err(|error| format!("no answer: {error}"))?;
    row.judge(&answer.0, &answer.1)
}

async fn exchange(row: &Row, address: SocketAddr) -> std::io::Result<(String, String)> {
    let mut client = Frames::open(address).await?;
    let next = [
        (":method", "GET"),
        (":scheme", "http"),
        (":path", "/next"),
        (":authority", "a"),
    ];
    let next = next.map(|(name, value)| (name, value.as_bytes()));
    let mut frames = frames(row);
    frames.push(Frame::request(3, Frame::END_STREAM, &next));
    let bytes: Vec<u8> = frames.iter().flat_map(Frame::bytes).collect();
    // A server that refuses a frame need not read the next.
    let _ = client.send(&bytes).await;
    let is_answered = matches!(row.kind, Kind::Stream);
    let (mut first, mut body, mut ended, mut goes_on) = (None, Vec::new(), !is_answered, false);
    while !(ended && goes_on) {
        let Some(frame) = client.next().await? else { break };
        match (frame.kind, frame.stream) {
            (Frame::GOAWAY, _) => break,
            (Frame::RST_STREAM, 1) => {
                first.get_or_insert("reset".to_owned());
                ended = true;
            }
            (Frame::HEADERS, 1) => {
                first.get_or_insert(frame.status().map_or("?".to_owned(), |status| status.to_string()));
                ended |= frame.flags & Frame::END_STREAM != 0;
            }
            (Frame::DATA, 1) => {
                body.extend_from_slice(&frame.payload);
                ended |= frame.flags & Frame::END_STREAM != 0;
            }
            (Frame::HEADERS, 3) => goes_on = frame.status() == Some(200),
            _ => {}
        }
    }
    let end = if goes_on { "+" } else { "end" };
    let answer = first.into_iter().chain([end.to_owned()]).collect::<Vec<_>>().join(" ");
    Ok((answer, String::from_utf8_lossy(&body).into_owned()))
}

fn frames(row: &Row) -> Vec<Frame> {
    let bytes = row.bytes();
    if matches!(row.kind, Kind::Frames) {
        return row.text.split(';').map(frame).collect();
    }
    let mut parts = bytes.splitn(2, |byte| *byte == b'#');
    let (head, body) = (parts.next().unwrap_or_default(), parts.next());
    let fields: Vec<_> = head
        .split(|byte| *byte == b';')
        .map(|field| {
            let blank = field.iter().position(|byte| *byte == b' ').expect("a name and a value");
            let name = std::str::from_utf8(&field[..blank]).expect("a name in ASCII");
            (name, &field[blank + 1..])
        })
        .collect();
    let end = |last: bool| if last { Frame::END_STREAM } else { 0 };
    let mut frames = vec![Frame::request(1, end(body.is_none()), &fields)];
    frames.extend(body.map(|body| Frame::new(Frame::DATA, end(true), 1, body)));
    frames
}

/// A frame of the table.
fn frame(text: &str) -> Frame {
    let mut parts = text.split(' ');
    let mut number = || u32::from_str_radix(parts.next().expect("a number"), 16).expect("a hexadecimal number");
    let (kind, flags, stream) = (number(), number(), number());
    let byte = |number: u32| u8::try_from(number).expect("one byte");
    let payload = parts.next().unwrap_or_default().as_bytes().chunks(2);
    let payload: Vec<u8> = payload
        .map(|digits| u8::from_str_radix(std::str::from_utf8(digits).expect("ASCII"), 16).expect("two digits"))
        .collect();
    Frame::new(byte(kind), byte(flags), stream, payload)
}
