//! Fault: why a call failed, as a code for programs and text for people. Never contains a secret.

use core::error::Error;

use copal_engine::backup::claim::ClaimError;
use copal_engine::backup::kept::KeptError;
use copal_engine::backup::session::SessionError;
use copal_engine::changing::{ChainLost, TagError};
use copal_engine::read::TooLong;
use copal_format::block::SealFault;
use copal_format::client::ClientError;
use copal_format::enrollment::EnrollmentError;
use copal_format::id::BadId;
use copal_format::index::{MixedDomains, SegmentError};
use copal_format::invitation::InvitationError;
use copal_format::keyring::Kept;
use copal_format::keys::slot::{BadPassphrase, SlotError};
use copal_format::keys::text::TextError;
use copal_format::path::BadPath;
use copal_format::policy::{BadPolicy, BadSpan};
use copal_format::repository::DescriptorError;
use copal_format::tree::BuildError;
use copal_format::wire::DecodeError;
use copal_format::wire::record::RecordError;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident $text:literal;)*) => {
        /// The kind of a fault.
        #[derive(Copy, Clone, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "those without a word more say all by their names")]
        pub enum Code {$(
            $(#[$doc])*
            $name,
        )*}

        impl Code {
            /// The code for hosts; stable.
            pub fn text(self) -> &'static str {
                match self {
                    $(Code::$name => $text,)*
                }
            }
        }
    };
}

codes! {
    /// The passphrase or code does not open this slot.
    WrongPassphrase "wrong-passphrase";
    BadPassphrase "bad-passphrase";
    BadRecoveryCode "bad-recovery-code";
    /// The slot is damaged or forged.
    SlotDamaged "slot-damaged";
    /// The slot opens with another kind of secret.
    SlotOther "slot-other";
    NoMemory "no-memory";
    /// The descriptor is damaged or forged.
    DescriptorDamaged "descriptor-damaged";
    /// It belongs to another owner or repository.
    OtherOwner "other-owner";
    /// A newer program made it.
    UnsupportedVersion "unsupported-version";
    BadEnrollment "bad-enrollment";
    EnrollmentUsed "enrollment-used";
    ClientRevoked "client-revoked";
    ClientUnknown "client-unknown";
    /// The client's record cannot be trusted.
    ClientDamaged "client-damaged";
    /// What the host kept was changed, or belongs to another client.
    KeptDamaged "kept-damaged";
    /// An object that a root names is gone: there is a newer root.
    RootGone "root-gone";
    /// Bytes are not what they should be.
    Damaged "damaged";
    Absent "absent";
    /// Only the owner's secret can do this.
    NeedsOwner "needs-owner";
    BadPath "bad-path";
    BadId "bad-id";
    /// Paths do not ascend.
    OutOfOrder "out-of-order";
    /// The entry is not valid in a tree.
    BadEntry "bad-entry";
    /// The session may not seal more blocks.
    SessionUsedUp "session-used-up";
    /// A block does not read back as its plaintext.
    SealFailed "seal-failed";
    /// The chain of changes lacks a change that was there before.
    ChainLost "chain-lost";
    /// Tags that contradict each other, or are too long or too many.
    BadTags "bad-tags";
    /// The invitation cannot be made like this.
    BadInvitation "bad-invitation";
    /// The key that opened the repository cannot be removed.
    KeyInUse "key-in-use";
    LastKey "last-key";
    /// A policy that the format does not permit.
    BadPolicy "bad-policy";
    /// The descriptions of a write-only client's snapshots take too much memory.
    TooLong "too-long";
    /// The caller broke the rules of a call.
    Misuse "misuse";
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    /// For programs.
    pub code: Code,
    /// For people.
    pub message: String,
}

impl Fault {
    /// A fault with this text.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// A fault with the text of an error and its causes.
    pub fn of(code: Code, error: &(dyn Error + 'static)) -> Self {
        let causes = core::iter::successors(Some(error), |error| (*error).source());
        Self { code, message: causes.map(ToString::to_string).collect::<Vec<_>>().join(": ") }
    }

    /// A fault of a caller who broke the rules of a call.
    pub fn misuse(what: &str) -> Self {
        Self::new(Code::Misuse, what)
    }
}

impl From<SlotError> for Fault {
    fn from(error: SlotError) -> Self {
        let code = match error {
            SlotError::WrongSecret { .. } => Code::WrongPassphrase,
            SlotError::OtherKind { .. } => Code::SlotOther,
            SlotError::UnknownKind { .. } => Code::UnsupportedVersion,
            SlotError::Memory { .. } => Code::NoMemory,
            _ => Code::SlotDamaged,
        };
        Self::of(code, &error)
    }
}

impl From<DescriptorError> for Fault {
    fn from(error: DescriptorError) -> Self {
        let code = match error {
            DescriptorError::Owner => Code::OtherOwner,
            DescriptorError::Chunker(_) | DescriptorError::Record(RecordError::Version { .. }) => {
                Code::UnsupportedVersion
            }
            _ => Code::DescriptorDamaged,
        };
        Self::of(code, &error)
    }
}

impl From<ClientError> for Fault {
    fn from(error: ClientError) -> Self {
        let code = match error {
            ClientError::Unknown { .. } => Code::ClientUnknown,
            _ => Code::ClientDamaged,
        };
        Self::of(code, &error)
    }
}

impl From<SessionError> for Fault {
    fn from(error: SessionError) -> Self {
        let code = match &error {
            SessionError::Exhausted => Code::SessionUsedUp,
            SessionError::Tree(BuildError::OutOfOrder { .. }) => Code::OutOfOrder,
            SessionError::Tree(_) => Code::BadEntry,
            SessionError::Parameters(_) | SessionError::Pack(_) => Code::Damaged,
        };
        Self::of(code, &error)
    }
}

impl From<KeptError> for Fault {
    fn from(error: KeptError) -> Self {
        match error {
            KeptError::Full => Self::of(Code::SessionUsedUp, &error),
            KeptError::Block(error) => error.into(),
        }
    }
}

impl From<ClaimError> for Fault {
    fn from(error: ClaimError) -> Self {
        match error {
            ClaimError::Info(error) => Self::of(Code::BadEntry, &error),
            ClaimError::Session(error) => error.into(),
            ClaimError::Seal(error) => error.into(),
        }
    }
}

impl From<Kept> for Fault {
    fn from(error: Kept) -> Self {
        let code = match error {
            Kept::InUse { is_only: false } => Code::KeyInUse,
            Kept::InUse { is_only: true } => Code::LastKey,
            Kept::Gone => Code::Absent,
        };
        Self::of(code, &error)
    }
}

macro_rules! faults {
    ($($error:ty => $code:ident;)*) => {$(
        impl From<$error> for Fault {
            fn from(error: $error) -> Self {
                Self::of(Code::$code, &error)
            }
        }
    )*};
}

faults! {
    BadPassphrase => BadPassphrase;
    TextError => BadRecoveryCode;
    EnrollmentError => BadEnrollment;
    BadId => BadId;
    BadPath => BadPath;
    RecordError => Damaged;
    DecodeError => Damaged;
    SegmentError => Damaged;
    MixedDomains => Damaged;
    SealFault => SealFailed;
    ChainLost => ChainLost;
    TagError => BadTags;
    InvitationError => BadInvitation;
    BadPolicy => BadPolicy;
    BadSpan => BadPolicy;
    TooLong => TooLong;
}
