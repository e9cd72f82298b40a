//! Opening: blocks opened by a cipher of the host's come to what the engine's own makes of them, and what is wrong with a block
//! is told in the same words.

use aes_gcm::aead::{AeadInOut, KeyInit};
use aes_gcm::{Aes256Gcm, Nonce};
use copal_format::client::Role;
use copal_format::keys::secret::Secret;
use copal_format::seal::NONCE;
use copal_wasm::fault::Code;
use copal_wasm::look::Opened;
use copal_wasm::view::Read;
use std::cell::Cell;

use super::seat::{Alteration, Browser, LATER, files, unaltered};

/// What a browser's cipher does.
fn by_host(key: &Secret, nonce: &[u8; NONCE], associated: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
    let mut text = sealed.to_vec();
    let opened = Aes256Gcm::new(key.expose().into()).decrypt_in_place(&Nonce::from(*nonce), associated, &mut text);
    opened.ok().map(|()| text)
}

#[test]
fn a_hosts_cipher_and_the_engines_restore_the_same_and_find_the_same_damage() {
    let browser = Browser::new();
    let files = files(8, 80, 5_000);
    let ran = browser.back_up(LATER, &files, &[], usize::MAX);
    let hit = browser.data_packs().remove(0);
    let flip = |at: usize| {
        let hit = &hit;
        move |read: &Read, mut bytes: Vec<u8>| {
            // Not the table, of which the end of the pack tells.
            if read.key == *hit && bytes.len() > 5_000 {
                bytes[at] ^= 1;
            }
            Some(bytes)
        }
    };
    let cut = |read: &Read, bytes: Vec<u8>| Some(if read.key == hit { bytes[..20].to_vec() } else { bytes });
    let gone = |read: &Read, bytes: Vec<u8>| (read.key != hit).then_some(bytes);
    let [nonce, text] = [0, 4_000].map(flip);
    let alterations: [(&Alteration<'_>, bool); 5] =
        [(&unaltered, false), (&nonce, true), (&text, true), (&cut, true), (&gone, true)];
    for (at, (alter, is_damaged)) in alterations.into_iter().enumerate() {
        let opened = Cell::new(0);
        let counting = |key: &Secret, nonce: &[u8; NONCE], associated: &[u8], sealed: &[u8]| {
            by_host(key, nonce, associated, sealed).inspect(|_| opened.set(opened.get() + 1))
        };
        let engine = browser.restore_with(ran.snapshot, alter, None);
        let host = browser.restore_with(ran.snapshot, alter, Some(&counting));
        assert_eq!(engine, host, "alteration {at}");
        assert_eq!(!host.1.is_empty(), is_damaged, "alteration {at}");
        assert!(opened.get() > 3, "alteration {at}: the host's cipher opens what it can");
        assert!(host.0.iter().all(|(path, content)| files[path] == *content), "alteration {at}");
    }
}

#[test]
fn what_a_hosts_cipher_makes_up_is_not_believed() {
    let browser = Browser::new();
    let files = files(9, 60, 5_000);
    let ran = browser.back_up(LATER, &files, &[], usize::MAX);
    let altered = |key: &Secret, nonce: &[u8; NONCE], associated: &[u8], sealed: &[u8]| {
        let mut text = by_host(key, nonce, associated, sealed)?;
        text[30] ^= 1;
        Some(text)
    };
    let short = |key: &Secret, nonce: &[u8; NONCE], associated: &[u8], sealed: &[u8]| {
        by_host(key, nonce, associated, sealed).map(|text| text[1..].to_vec())
    };
    let empty = |_: &Secret, _: &[u8; NONCE], _: &[u8], _: &[u8]| Some(Vec::new());
    for cipher in [&altered as &super::seat::HostCipher<'_>, &short, &empty] {
        assert_eq!(browser.restore_with(ran.snapshot, &unaltered, Some(cipher)), (files.clone(), Vec::new()));
    }
}

#[test]
fn of_a_block_that_no_cipher_opens_another_copy_is_taken() {
    let browser = Browser::new();
    let files = files(10, 60, 5_000);
    // Begun before the other one is there, so that it stores everything again.
    let backup = browser.begin(LATER, &[]);
    let other = browser.world.register(3, Role::Full);
    browser.world.back_up(&other, &files);
    let first = browser.data_packs();
    let ran = browser.go_on(backup, &files, usize::MAX);
    let second: Vec<_> = browser.data_packs().into_iter().filter(|name| !first.contains(name)).collect();
    assert!(!second.is_empty(), "there are two copies");
    for hit in [first, second] {
        let flip = |read: &Read, mut bytes: Vec<u8>| {
            if hit.contains(&read.key) && read.range.as_ref().is_some_and(|range| range.start > 0 && bytes.len() > 200)
            {
                bytes[40] ^= 1;
            }
            Some(bytes)
        };
        let engine = browser.restore_with(ran.snapshot, &flip, None);
        assert_eq!(browser.restore_with(ran.snapshot, &flip, Some(&by_host)), engine);
        assert_eq!(engine, (files.clone(), Vec::new()));
    }
}

#[test]
fn a_sessions_key_is_given_once_and_a_block_taken_once() {
    let browser = Browser::new();
    let files = files(11, 20, 5_000);
    let ran = browser.back_up(LATER, &files, &[], usize::MAX);
    let library = browser.library();
    let mut restore = library.tree(ran.snapshot).unwrap().restore(vec![copal_format::path::TreePath::TOP], 0..u64::MAX);
    let window = loop {
        let window = restore.advance().unwrap();
        if window.needs.is_empty() {
            break window;
        }
        window.needs.iter().for_each(|read| library.supply(read, browser.fetch(read)));
    };
    let bytes = browser.fetch(&window.reads[0].0).unwrap();
    let blocks = restore.sealed(0).unwrap();
    let block = &blocks[0];
    let key = library.take_key(block.session).unwrap();
    assert!(library.take_key(block.session).is_none() && library.take_key(u32::MAX).is_none());

    let stored = &bytes[block.range.start as usize..block.range.end as usize];
    let (nonce, rest) = stored.split_first_chunk().unwrap();
    let plaintext = by_host(&key, nonce, &block.associated, rest).unwrap();
    let opened = Opened { nonce: *nonce, plaintext };
    assert!(!restore.take_opened(0, block.range.start, opened.clone()).unwrap().unwrap().is_empty());
    let misuse = |taken: Result<_, copal_wasm::fault::Fault>| taken.map_err(|fault| fault.code) == Err(Code::Misuse);
    assert!(misuse(restore.take_opened(0, block.range.start, opened.clone())), "it was taken");
    assert!(misuse(restore.take_opened(99, block.range.start, opened.clone())), "there is no such read");
    assert_eq!(restore.sealed(0).unwrap(), blocks[1..]);
    assert!(misuse(restore.advance().map(|_| None)), "the read was not ended");
    restore.take(0, Some(&bytes)).unwrap();
    assert!(misuse(restore.take_opened(0, blocks[1].range.start, opened)), "the read was ended");
}
