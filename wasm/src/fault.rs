//! Fault: why a call failed, as a code for programs and words for people. Never holds a secret.

use core::error::Error;

use copal_engine::backup::session::SessionError;
use copal_engine::block::SealFault;
use copal_engine::client::ClientError;
use copal_engine::enrollment::EnrollmentError;
use copal_engine::id::BadId;
use copal_engine::index::{MixedDomains, SegmentError};
use copal_engine::keys::slot::{BadPassphrase, SlotError};
use copal_engine::keys::text::TextError;
use copal_engine::path::BadPath;
use copal_engine::repository::DescriptorError;
use copal_engine::tree::BuildError;
use copal_engine::wire::DecodeError;
use copal_engine::wire::record::RecordError;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident $text:literal;)*) => {
        /// What kind of fault it is.
        #[derive(Copy, Clone, Debug, PartialEq, Eq)]
        pub enum Code {$(
            $(#[$doc])*
            $name,
        )*}

        impl Code {
            /// The code as hosts see it; it does not change.
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
    /// It can be no passphrase.
    BadPassphrase "bad-passphrase";
    /// It can be no recovery code.
    BadRecoveryCode "bad-recovery-code";
    /// The slot is damaged or forged.
    SlotDamaged "slot-damaged";
    /// Something else opens the slot.
    SlotOther "slot-other";
    /// There is not as much memory as is needed.
    NoMemory "no-memory";
    /// The descriptor is damaged or forged.
    DescriptorDamaged "descriptor-damaged";
    /// It belongs to somebody else.
    OtherOwner "other-owner";
    /// Made by a newer program.
    UnsupportedVersion "unsupported-version";
    /// The text is no enrollment.
    BadEnrollment "bad-enrollment";
    /// Somebody has joined with the enrollment.
    EnrollmentUsed "enrollment-used";
    /// The owner has revoked the client.
    ClientRevoked "client-revoked";
    /// The repository does not know the client.
    ClientUnknown "client-unknown";
    /// The client's record cannot be believed.
    ClientDamaged "client-damaged";
    /// What the host kept was altered, or is another's.
    KeptDamaged "kept-damaged";
    /// What a root names is gone: there is a newer one.
    RootGone "root-gone";
    /// Bytes are not what they should be.
    Damaged "damaged";
    /// It is nowhere.
    Absent "absent";
    /// Only the owner's secret can do this.
    NeedsOwner "needs-owner";
    /// No tree holds such a path.
    BadPath "bad-path";
    /// It is no id.
    BadId "bad-id";
    /// Paths do not ascend.
    OutOfOrder "out-of-order";
    /// An entry that no tree holds.
    BadEntry "bad-entry";
    /// The session may seal no more.
    SessionUsedUp "session-used-up";
    /// A block does not read back as what it was made of.
    SealFailed "seal-failed";
    /// The caller broke the order of calls.
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
    /// A fault in these words.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// A fault in the words of an error and of its causes.
    pub fn of(code: Code, error: &dyn Error) -> Self {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            message.push_str(": ");
            message.push_str(&error.to_string());
            cause = error.source();
        }
        Self { code, message }
    }

    /// The caller broke the order of calls.
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
}
