use proptest::prelude::*;

use super::*;

const NOW: u64 = 1_790_000_000;
const URI: &str = "https://gateway.example/v1/uploads?a=b";

fn key() -> SigningKey {
    SigningKey::from_bytes(&[3; 32])
}

fn terms() -> Terms {
    let signatory = Signatory::Client(ClientId([0xab; 16]));
    Terms { created: NOW, expires: NOW + WINDOW, nonce: [7; 16], signatory }
}

fn request() -> Request<'static> {
    Request { method: "POST", uri: URI, digest: Request::digest(b"body") }
}

fn signed(terms: &Terms) -> Unverified {
    let headers = request().sign(terms, &key());
    Unverified::parse(&headers.content_digest, &headers.input, &headers.signature).unwrap()
}

/// RFC 9421, sections B.1.4 and B.2.6.
#[test]
fn signature_base_and_key_give_the_signature_of_the_rfc() {
    let seed = STANDARD.decode("n4Ni+HpISpVObnQMW0wOhCKROaIKqKtW/2ZYb2p9KcU=").unwrap();
    let key = SigningKey::from_bytes(&seed.try_into().unwrap());
    let components = [
        ("date", "Tue, 20 Apr 2021 02:07:55 GMT"),
        ("@method", "POST"),
        ("@path", "/foo"),
        ("@authority", "example.com"),
        ("content-type", "application/json"),
        ("content-length", "18"),
    ];
    let params = "(\"date\" \"@method\" \"@path\" \"@authority\" \"content-type\" \"content-length\")\
                  ;created=1618884473;keyid=\"test-key-ed25519\"";
    let signature = key.sign(base(&components, params).as_bytes());
    let expected = "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==";
    assert_eq!(STANDARD.encode(signature.to_bytes()), expected);
}

#[test]
fn headers_of_a_request_are_these_bytes() {
    let headers = request().sign(&terms(), &key());
    assert_eq!(headers.content_digest, "sha-256=:Iw2DWNyOiJC0xY3utikS7i8gNXrpKlzIYbmOaP4xrLU=:");
    assert_eq!(
        headers.input,
        "copal=(\"@method\" \"@target-uri\" \"content-digest\");created=1790000000;expires=1790000060\
         ;nonce=\"BwcHBwcHBwcHBwcHBwcHBw\";keyid=\"abababababababababababababababab\";alg=\"ed25519\""
    );
    assert_eq!(
        headers.signature,
        "copal=:cJBLz5lTL/CMk7XOfsFNBziWC0+R5dlJJ0TrwvmNGzHm/r73nVfYEXb2CZYeiaYYee1YfCoDJDTwtNVLmWJpCA==:"
    );
}

#[test]
fn a_signed_request_is_believed_with_its_key_method_and_address_only() {
    let unverified = signed(&terms());
    let public = key().verifying_key().to_bytes();
    assert_eq!(unverified.claimed, terms());
    assert_eq!(unverified.verify("POST", URI, &public), Ok(()));
    assert_eq!(unverified.verify("PUT", URI, &public), Err(RequestError::Signature));
    assert_eq!(unverified.verify("POST", "https://gateway.example/v1/uploads", &public), Err(RequestError::Signature));
    let other = SigningKey::from_bytes(&[4; 32]).verifying_key().to_bytes();
    assert_eq!(unverified.verify("POST", URI, &other), Err(RequestError::Signature));
}

#[test]
fn another_body_is_refused() {
    assert_eq!(signed(&terms()).verify_body(b"body"), Ok(()));
    assert_eq!(signed(&terms()).verify_body(b"bodY"), Err(RequestError::Body));
}

#[test]
fn a_signature_does_not_carry_over_to_another_body() {
    let headers = request().sign(&terms(), &key());
    let other = Request { digest: Request::digest(b"other"), ..request() }.sign(&terms(), &key());
    let mixed = Unverified::parse(&other.content_digest, &headers.input, &headers.signature).unwrap();
    let public = key().verifying_key().to_bytes();
    assert_eq!(mixed.verify("POST", URI, &public), Err(RequestError::Signature));
}

#[test]
fn a_signature_counts_for_a_minute_and_a_clock_may_be_wrong_by_as_much() {
    let unverified = signed(&terms());
    for now in [NOW - WINDOW, NOW, NOW + WINDOW] {
        assert_eq!(unverified.verify_time(now), Ok(()));
    }
    assert_eq!(unverified.verify_time(NOW - WINDOW - 1), Err(RequestError::Time { ahead: 61 }));
    assert_eq!(unverified.verify_time(NOW + WINDOW + 1), Err(RequestError::Time { ahead: -61 }));
}

#[test]
fn a_signature_that_counts_for_longer_or_before_it_was_made_is_refused() {
    for expires in [NOW + WINDOW + 1, NOW - 1] {
        let unverified = signed(&Terms { expires, ..terms() });
        assert_eq!(unverified.verify_time(NOW - 1), Err(RequestError::Long));
    }
}

#[test]
fn the_owner_signs_under_a_name_of_its_own() {
    let unverified = signed(&Terms { signatory: Signatory::Owner, ..terms() });
    assert_eq!(unverified.claimed.signatory, Signatory::Owner);
}

#[test]
fn only_one_form_of_each_header_is_taken() {
    let good = request().sign(&terms(), &key());
    let parse = |digest: &str, input: &str, signature: &str| Unverified::parse(digest, input, signature).err();
    let long = format!("{}0", good.input);
    let inputs = [
        good.input.replace("copal=", "sig1="),
        good.input.replace(" \"content-digest\"", ""),
        good.input.replace("created=1", "created=01"),
        good.input.replace("created=", "created=+"),
        good.input.replace("BwcHBwcHBwcHBwcHBwcHBw", "BwcHBwcHBwcHBwcHBwcHBx"),
        good.input.replace("BwcHBwcHBwcHBwcHBwcHBw", "Bwc"),
        good.input.replace("abab", "ABAB"),
        good.input.replace("ed25519", "hmac-sha256"),
        long,
        String::new(),
    ];
    for input in inputs {
        let refused = Some(RequestError::Malformed("Signature-Input"));
        assert_eq!(parse(&good.content_digest, &input, &good.signature), refused, "{input}");
    }
    for digest in ["sha-512=:AAAA:", "sha-256=:AAAA:", ""] {
        let refused = Some(RequestError::Malformed("Content-Digest"));
        assert_eq!(parse(digest, &good.input, &good.signature), refused, "{digest}");
    }
    for signature in ["copal=:AAAA:", "sig1=:AAAA:", ""] {
        let refused = Some(RequestError::Malformed("Signature"));
        assert_eq!(parse(&good.content_digest, &good.input, signature), refused, "{signature}");
    }
}

proptest! {
    #[test]
    fn a_mutated_input_is_refused_or_another_one(at: prop::sample::Index, letter: char) {
        let good = request().sign(&terms(), &key());
        let at = at.index(good.input.len());
        let input: String = good.input.chars().enumerate().map(|(i, old)| if i == at { letter } else { old }).collect();
        if input != good.input
            && let Ok(read) = Unverified::parse(&good.content_digest, &input, &good.signature)
        {
            prop_assert_eq!(read.verify("POST", URI, &key().verifying_key().to_bytes()), Err(RequestError::Signature));
        }
    }
}
