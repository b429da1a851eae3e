//! What a passphrase is compared with: Argon2id, in the text form of the Password Hashing Competition.

use std::fmt;

use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use super::{Passphrase, PassphraseError, same};

/// `$argon2id$v=19$m=KIB,t=PASSES,p=LANES$SALT$HASH`.
///
/// Within bounds: 7168 to 1048576 KiB of memory, 1 to 64 passes, 1 to 16 lanes; memory times passes 35840 to 4194304 KiB; 16 to 64
/// bytes of salt and 32 to 64 of hash. What is weaker is guessed too quickly, what is costlier keeps the person waiting. Never printed by
/// `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct PassphraseHash {
    text: String,
    params: Params,
    salt: Vec<u8>,
    hash: Vec<u8>,
}

impl PassphraseHash {
    /// Reads that form, and nothing else of it.
    ///
    /// # Errors
    /// Why not, to stand after the name of the key. Nothing of the text is in it.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(FORM);
        }
        let parts: Vec<_> = text.split('$').collect();
        let ["", "argon2id", "v=19", costs, salt, hash] = parts.as_slice() else { return Err(FORM) };
        let costs: Vec<_> = costs.split(',').collect();
        let [memory, passes, lanes] = costs.as_slice() else { return Err(FORM) };
        let number = |text: &str, key: &str| {
            let digits = text.strip_prefix(key).ok_or(FORM)?;
            // As it is printed: no sign, no zeros before it.
            digits.parse().ok().filter(|number: &u32| number.to_string() == digits).ok_or(FORM)
        };
        let (memory, passes) = (number(memory, "m=")?, number(passes, "t=")?);
        let lanes = number(lanes, "p=")?;
        let work = u64::from(memory) * u64::from(passes);
        if memory < MEMORY_KIB_MIN || passes == 0 || work < WORK_KIB_MIN {
            return Err(
                "is too weak: at least 7168 KiB of memory, and memory times passes at least 35840 KiB",
            );
        }
        if memory > MEMORY_KIB_MAX || passes > PASSES_MAX || work > WORK_KIB_MAX {
            return Err(
                "is too costly: at most 1048576 KiB of memory, 64 passes, and 4194304 KiB for both multiplied",
            );
        }
        if !(1..=LANES_MAX).contains(&lanes) {
            return Err("must have 1 to 16 lanes");
        }
        let bytes = |text: &str| STANDARD_NO_PAD.decode(text).map_err(|_| FORM);
        let (salt, hash) = (bytes(salt)?, bytes(hash)?);
        if !(16..=64).contains(&salt.len()) || !(32..=64).contains(&hash.len()) {
            return Err("must have 16 to 64 bytes of salt and 32 to 64 of hash");
        }
        let params = Params::new(memory, passes, lanes, Some(hash.len())).map_err(|_| FORM)?;
        Ok(Self { text: text.to_owned(), params, salt, hash })
    }

    /// The hash of a new passphrase: 19 MiB, two passes, one lane, as OWASP advises.
    ///
    /// # Errors
    /// [`PassphraseError::Unusable`] where there is no randomness or memory.
    pub fn of(passphrase: &Passphrase) -> Result<Self, PassphraseError> {
        let unusable = |_| PassphraseError::Unusable("there is no randomness for a salt to be had");
        let mut salt = [0; 16];
        getrandom::fill(&mut salt).map_err(unusable)?;
        Self::with(passphrase, &salt, MEMORY_KIB, PASSES)
    }

    pub(super) fn with(
        passphrase: &Passphrase,
        salt: &[u8],
        memory: u32,
        passes: u32,
    ) -> Result<Self, PassphraseError> {
        let params = Params::new(memory, passes, 1, Some(HASH_BYTES));
        let params = params.map_err(|_| PassphraseError::Unusable(UNHASHED))?;
        let hash = derive(passphrase, salt, &params, HASH_BYTES)?;
        let (salt, hash) = (STANDARD_NO_PAD.encode(salt), STANDARD_NO_PAD.encode(hash));
        let text = format!("$argon2id$v=19$m={memory},t={passes},p=1${salt}${hash}");
        Self::parse(&text).map_err(|_| PassphraseError::Unusable(UNHASHED))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub(super) fn matches(&self, passphrase: &Passphrase) -> Result<bool, PassphraseError> {
        Ok(same(&derive(passphrase, &self.salt, &self.params, self.hash.len())?, &self.hash))
    }
}

fn derive(
    passphrase: &Passphrase,
    salt: &[u8],
    params: &Params,
    bytes: usize,
) -> Result<Vec<u8>, PassphraseError> {
    let mut hash = vec![0; bytes];
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params.clone());
    let derived = argon2.hash_password_into(&passphrase.0, salt, &mut hash);
    derived.map(|()| hash).map_err(|_| PassphraseError::Unusable(UNHASHED))
}

impl fmt::Debug for PassphraseHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PassphraseHash(…)")
    }
}

const FORM: &str = "must be $argon2id$v=19$m=…,t=…,p=…$salt$hash";
const UNHASHED: &str = "the passphrase could not be hashed";
const TEXT_BYTES_MAX: usize = 256;
const MEMORY_KIB: u32 = 19 << 10;
const PASSES: u32 = 2;
const HASH_BYTES: usize = 32;
const MEMORY_KIB_MIN: u32 = 7 << 10;
const MEMORY_KIB_MAX: u32 = 1 << 20;
const PASSES_MAX: u32 = 64;
const LANES_MAX: u32 = 16;
/// The least that OWASP's list has.
const WORK_KIB_MIN: u64 = 35 << 10;
const WORK_KIB_MAX: u64 = 4 << 20;
