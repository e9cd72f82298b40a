//! A long line: passes connections on to a server on this machine, each byte a while later.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::s3::runtime;

/// Starts one whose round trip takes twice as long as `each_way`; it ends with the process.
pub fn long_line(server: SocketAddr, each_way: Duration) -> SocketAddr {
    let listener = runtime().block_on(TcpListener::bind("127.0.0.1:0")).expect("a free port");
    let address = listener.local_addr().expect("a bound socket has an address");
    runtime().spawn(async move {
        while let Ok((near, _)) = listener.accept().await {
            tokio::spawn(async move {
                let far = TcpStream::connect(server).await?;
                let ((from_near, to_near), (from_far, to_far)) = (near.into_split(), far.into_split());
                tokio::spawn(later(from_near, to_far, each_way));
                tokio::spawn(later(from_far, to_near, each_way));
                io::Result::Ok(())
            });
        }
    });
    address
}

async fn later(
    mut from: impl AsyncRead + Unpin + Send + 'static,
    mut to: impl AsyncWrite + Unpin + Send + 'static,
    each_way: Duration,
) {
    let (sender, mut on_the_way) = mpsc::channel::<(Instant, Vec<u8>)>(4_096);
    tokio::spawn(async move {
        while let Some((due, bytes)) = on_the_way.recv().await {
            sleep_until(due).await;
            if to.write_all(&bytes).await.is_err() {
                break;
            }
        }
        let _ = to.shutdown().await;
    });
    let mut buffer = vec![0; 64 << 10];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        if sender.send((Instant::now() + each_way, buffer[..length].to_vec())).await.is_err() {
            break;
        }
    }
}
