//! Who may come in, tried from outside.

use super::place::{Place, answer};
use reqwest::header::{COOKIE, HOST, LOCATION, ORIGIN, SET_COOKIE};

async fn place() -> Place {
    Place::of(Vec::new()).await
}

#[tokio::test]
async fn without_the_token_nothing_is_told() {
    let place = place().await;
    for path in ["/", "/api/v1/sessions", "/api/v1/openapi.json", "/nothing"] {
        let (status, problem) = answer(place.client.get(place.url(path))).await;
        assert_eq!((status, problem["code"].as_str()), (401, Some("not_admitted")), "{path}");
        let wrong = place.client.get(place.url(path)).bearer_auth("wrong");
        assert_eq!(answer(wrong).await.0, 401, "{path}");
    }
    let (status, problem) = place.get("/nothing").await;
    assert_eq!((status, problem["code"].as_str()), (404, Some("not_found")));
    let (status, problem) = place.post("/api/v1/openapi.json", serde_json::json!({})).await;
    assert_eq!((status, problem["code"].as_str()), (405, Some("method_not_allowed")));
    place.end().await;
}

#[tokio::test]
async fn a_token_in_the_address_becomes_a_cookie_and_leaves_the_address() {
    let place = place().await;
    let url = place.url(&format!("/some/page?a=1&token={}&b=2", place.token));
    let response = place.client.get(url).send().await.unwrap();
    assert_eq!(response.status(), 303);
    assert_eq!(response.headers()[LOCATION], "/some/page?a=1&b=2");
    let cookie = response.headers()[SET_COOKIE].to_str().unwrap().to_owned();
    assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict"), "{cookie}");
    assert!(!cookie.contains(&place.token), "a cookie is shown to other ports");
    let pair = cookie.split(';').next().unwrap();
    let with = place.client.get(place.url("/api/v1/sessions")).header(COOKIE, pair);
    assert_eq!(answer(with).await.0, 200);

    let wrong = place.client.get(place.url("/?token=wrong")).send().await.unwrap();
    assert_eq!((wrong.status().as_u16(), wrong.headers().get(SET_COOKIE)), (303, None));
    let away = place.client.get(place.url(&format!("//evil.example/x?token={}", place.token)));
    assert_eq!(away.send().await.unwrap().headers()[LOCATION], "/");
    let api = place.url(&format!("/api/v1/sessions?token={}", place.token));
    assert_eq!(answer(place.client.get(api)).await.0, 401, "no token in addresses of the API");
    place.end().await;
}

#[tokio::test]
async fn another_name_than_its_own_is_not_answered() {
    let place = place().await;
    let port = place.address.port();
    for good in [format!("localhost:{port}"), format!("[::1]:{port}")] {
        let request = place.ask("GET", "/api/v1/sessions").header(HOST, &good);
        assert_eq!(answer(request).await.0, 200, "{good}");
    }
    for bad in ["evil.example".to_owned(), format!("evil.example:{port}"), "127.0.0.1".to_owned()] {
        let request = place.ask("GET", "/api/v1/sessions").header(HOST, &bad);
        let (status, problem) = answer(request).await;
        assert_eq!((status, problem["code"].as_str()), (421, Some("wrong_host")), "{bad}");
    }
    let two = format!(
        "GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: evil\r\nConnection: close\r\n\r\n"
    );
    assert!(place.raw(&two).await.starts_with("HTTP/1.1 421"));
    let none = "GET / HTTP/1.1\r\nConnection: close\r\n\r\n";
    assert!(place.raw(none).await.starts_with("HTTP/1.1 421"));
    let whole = format!(
        "GET http://evil.example/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n"
    );
    assert!(place.raw(&whole).await.starts_with("HTTP/1.1 421"));
    place.end().await;
}

#[tokio::test]
async fn a_page_of_somebody_elses_can_make_nothing_happen_and_read_nothing() {
    let place = place().await;
    let url = place.url(&format!("/?token={}", place.token));
    let response = place.client.get(url).send().await.unwrap();
    let cookie = response.headers()[SET_COOKIE].to_str().unwrap().to_owned();
    let pair = cookie.split(';').next().unwrap().to_owned();
    let post = || {
        let body = serde_json::json!({"prompt": ""});
        place.client.post(place.url("/api/v1/sessions")).header(COOKIE, &pair).json(&body)
    };
    let own = format!("http://{}", place.address);
    let foreign = [
        post(),
        post().header(ORIGIN, "http://evil.example"),
        post().header(ORIGIN, "null"),
        post().header(ORIGIN, &own).header("sec-fetch-site", "same-site"),
        post().header(ORIGIN, &own).header("sec-fetch-site", "cross-site"),
        place.ask("POST", "/api/v1/sessions").header(ORIGIN, "http://evil.example"),
        place
            .client
            .get(place.url("/api/v1/sessions/s-1/events"))
            .header(COOKIE, &pair)
            .header("sec-fetch-site", "same-site"),
    ];
    for request in foreign {
        let (status, problem) = answer(request).await;
        assert_eq!((status, problem["code"].as_str()), (403, Some("foreign_page")));
    }
    let (_, problem) =
        answer(post().header(ORIGIN, &own).header("sec-fetch-site", "same-origin")).await;
    assert_ne!(problem["code"], "foreign_page");
    place.end().await;
}

#[tokio::test]
async fn every_answer_tells_browsers_what_not_to_do() {
    let place = place().await;
    for request in [place.ask("GET", "/api/v1/sessions"), place.client.get(place.url("/"))] {
        let response = request.send().await.unwrap();
        let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(
            header("content-security-policy"),
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
             connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
        );
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert_eq!(header("referrer-policy"), "no-referrer");
        assert_eq!(header("cache-control"), "no-store");
    }
    place.end().await;
}
