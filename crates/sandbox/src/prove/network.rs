//! Reaching anybody by a socket.

use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd as _;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener, UnixStream};
use std::time::Duration;

use rustix::net::{AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType, socket, socketpair};

use super::Attack;
use super::scene::{Answer, Refusal, Scene, any, found};

#[expect(clippy::too_many_lines, reason = "a list, one entry for each attack")]
pub(crate) fn attacks() -> Vec<Attack> {
    vec![
        Attack::new(
            "tcp-to-the-host",
            "connects to a service on the host's loopback",
            "anthropics/claude-code#40213",
            |scene| {
                let address = (Ipv4Addr::LOCALHOST, port(scene, "tcp")).into();
                Ok(TcpStream::connect_timeout(&address, Duration::from_secs(2))
                    .map(|_| "connected".to_owned())?)
            },
        )
        .leaves_traces()
        .at_every_level()
        .met(NO_SOCKET),
        Attack::new(
            "udp-to-the-host",
            "sends a packet to a service on the host's loopback",
            "general",
            |scene| {
                let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
                Ok(socket
                    .send_to(b"canary", (Ipv4Addr::LOCALHOST, port(scene, "udp")))
                    .map(|_| "sent".to_owned())?)
            },
        )
        .leaves_traces()
        .at_every_level()
        .met(NO_SOCKET),
        Attack::new("leak-by-name", "asks a name server for a name that holds a secret", DNS, ask_a_name)
            .leaves_traces()
            .at_every_level()
            .met(NO_SOCKET),
        Attack::new("listen", "offers a service", "general", |_| {
            Ok(TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).map(|_| "listens".to_owned())?)
        })
        .at_every_level()
        .met(NO_SOCKET),
        Attack::new("raw-packets", "makes packets of its own", "general, SOCK_RAW", raw)
            .in_namespaces()
            .at_every_level()
            .met(NO_SOCKET),
        Attack::new(
            "netlink",
            "talks to the kernel's network settings",
            "CVE-2023-32233 (nf_tables)",
            |_| family(AddressFamily::NETLINK),
        )
        .at_every_level()
        .met(NO_SOCKET),
        Attack::new("vm-sockets", "talks to the machine's host", "CVE-2021-26708 (AF_VSOCK)", |_| {
            family(AddressFamily::VSOCK)
        })
        .may_be_missing()
        .at_every_level()
        .met(NO_SOCKET),
        Attack::new(
            "any-socket-family",
            "opens a socket of any family",
            "CVE-2016-8655, CVE-2017-6074, CVE-2019-8912 (AF_ALG)",
            any_family,
        )
        .at_every_level()
        .met(NO_SOCKET),
        Attack::new("interfaces", "looks for a network interface beyond loopback", "general", interfaces)
            .may_be_missing()
            .met("network namespace"),
        Attack::new(
            "local-socket",
            "connects to a service of the host by path",
            "GreyhavenHQ/greywall#55, GHSA-27vp-2mmc-vmh3",
            |scene| Ok(UnixStream::connect(scene.path("stream")).map(|_| "connected".to_owned())?),
        )
        .leaves_traces()
        .at_every_level()
        .met("no path leads there; no call that makes a socket"),
        Attack::new(
            "local-socket-in-a-grant",
            "connects to a service whose socket lies in a folder granted for reading",
            RO_SOCKET,
            |scene| {
                Ok(UnixStream::connect(scene.path("read").join("stream")).map(|_| "connected".to_owned())?)
            },
        )
        .leaves_traces()
        .at_every_level()
        .met(NO_SOCKET),
        Attack::new(
            "named-pipe-in-a-grant",
            "writes to a service whose named pipe lies in a folder granted for reading",
            "general: a read-only mount lets named pipes be written",
            |scene| {
                // For both, so that nobody needs to wait at the other end.
                let both =
                    std::fs::File::options().read(true).write(true).open(scene.path("read").join("pipe"));
                Ok(both.map(|_| "opened for writing".to_owned())?)
            },
        )
        .with_landlock()
        .met("Landlock"),
        Attack::new("local-datagram", "sends to a socket in a granted folder", RO_SOCKET, |scene| {
            let socket = UnixDatagram::unbound()?;
            Ok(socket.send_to(b"canary", scene.path("read").join("datagram")).map(|_| "sent".to_owned())?)
        })
        .leaves_traces()
        .at_every_level()
        .met(NO_SOCKET),
        Attack::new(
            "datagram-by-a-pair",
            "sends to a socket in a granted folder from one end of a socket pair",
            PAIR,
            by_pair,
        )
        .leaves_traces()
        .at_every_level()
        .met("socket pairs are local streams only, which cannot be pointed elsewhere"),
        Attack::new(
            "descriptors-on-their-way",
            "keeps files open in messages that nobody receives, and uses up what its user may have of those",
            "CVE-2021-0920, CVE-2016-2550 (SCM_RIGHTS)",
            |_| {
                let (one, _other) = std::os::unix::net::UnixStream::pair()?;
                let file = std::fs::File::open("/dev/null")?;
                crate::socket::send(&one, &[], &[file.as_fd()])?;
                Ok("sent an open file".to_owned())
            },
        )
        .at_every_level()
        .met("the filter has no call that can send descriptors"),
        Attack::new("socket-pairs", "makes socket pairs of other families", "CVE-2021-43267 (TIPC)", pairs)
            .at_every_level()
            .met("socket pairs are local streams only"),
        Attack::new(
            "abstract-socket",
            "connects to a service of the host by an abstract name",
            "CVE-2020-15257 (containerd)",
            |scene| {
                let address = SocketAddr::from_abstract_name(scene.text("marker"))?;
                Ok(UnixStream::connect_addr(&address).map(|_| "connected".to_owned())?)
            },
        )
        .leaves_traces()
        .at_every_level()
        .met("network namespace; Landlock; no call that makes a socket"),
        Attack::new("offer-a-local-socket", "waits for the host in a granted folder", "general", |scene| {
            Ok(UnixListener::bind(scene.path("write").join("offered")).map(|_| "listens".to_owned())?)
        })
        .leaves_traces()
        .at_every_level()
        .met(NO_SOCKET),
    ]
}

fn port(scene: &Scene, key: &str) -> u16 {
    u16::try_from(scene.number(key)).unwrap_or(0)
}

/// A question for `secret.example`, to the server that the host listens as.
fn ask_a_name(scene: &Scene) -> Answer {
    let mut question = vec![0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in ["secret", "example"] {
        question.push(u8::try_from(label.len()).unwrap_or(0));
        question.extend(label.as_bytes());
    }
    question.extend([0, 0, 1, 0, 1]);
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    socket.send_to(&question, (Ipv4Addr::LOCALHOST, port(scene, "udp")))?;
    Ok("asked".to_owned())
}

fn raw(_: &Scene) -> Answer {
    let icmp = Some(rustix::net::ipproto::ICMP);
    any([
        ("icmp", socket(AddressFamily::INET, SocketType::RAW, icmp).map(drop)),
        ("packet", socket(AddressFamily::PACKET, SocketType::RAW, None).map(drop)),
    ])
}

fn family(family: AddressFamily) -> Answer {
    let kinds = [SocketType::STREAM, SocketType::DGRAM, SocketType::RAW, SocketType::SEQPACKET];
    any(kinds.map(|kind| (format!("{kind:?}"), socket(family, kind, None).map(drop))))
}

fn any_family(_: &Scene) -> Answer {
    any((0..48).map(|number| (number, family(AddressFamily::from_raw(number)).map(drop))))
        .map_err(|_| Refusal::of("none of 48 families"))
}

fn interfaces(_: &Scene) -> Answer {
    let table = std::fs::read_to_string("/proc/self/net/dev")?;
    let names =
        table.lines().skip(2).filter_map(|line| line.split(':').next()).map(|name| name.trim().to_owned());
    let strange: Vec<String> = names.filter(|name| name != "lo").collect();
    found(&strange, "only loopback is there")
}

fn by_pair(scene: &Scene) -> Answer {
    let address = SocketAddrUnix::new(scene.path("read").join("datagram"))?;
    any([SocketType::DGRAM, SocketType::RAW, SocketType::SEQPACKET].map(|kind| {
        let sent = socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)
            // A sequence of packets takes the address and sends to its other end; the listener tells.
            .and_then(|(ours, _theirs)| rustix::net::sendto(&ours, b"canary", SendFlags::NOSIGNAL, &address));
        let sent = if kind == SocketType::SEQPACKET { Err(rustix::io::Errno::PERM) } else { sent };
        (format!("{kind:?}"), sent.map(drop))
    }))
}

fn pairs(_: &Scene) -> Answer {
    let pair = |family, kind| socketpair(family, kind, SocketFlags::CLOEXEC, None).map(drop);
    any([
        ("datagrams", pair(AddressFamily::UNIX, SocketType::DGRAM)),
        ("raw", pair(AddressFamily::UNIX, SocketType::RAW)),
        ("TIPC", pair(AddressFamily::TIPC, SocketType::STREAM)),
    ])
}

const NO_SOCKET: &str = "no call that makes a socket; network namespace without a way out";
const DNS: &str = "anthropic-experimental/sandbox-runtime#88, NVIDIA/OpenShell#1169";
const RO_SOCKET: &str = "GreyhavenHQ/greywall#55: read-only is not closed";
const PAIR: &str = "general: a pair of datagram sockets can send to any address";
