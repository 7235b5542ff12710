//! boot.scr: a script in U-Boot's legacy image format. Its source is in it, so nothing else is needed to change it.

use super::{Asked, EditError, script};

/// Variable that holds the kernel's arguments where the target file names none.
pub const ARGUMENTS: &str = "bootargs";

const MAGIC: u32 = 0x2705_1956;
const HEADER: usize = 64;
/// `IH_TYPE_SCRIPT`.
const SCRIPT: u8 = 6;
/// Where the type stands.
const TYPE_AT: usize = 30;

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// The commands of a script image.
pub fn source(image: &[u8]) -> Result<String, EditError> {
    if word(image, 0) != Some(MAGIC) || image.get(TYPE_AT) != Some(&SCRIPT) {
        return Err(EditError::Format("it is no script image (boot.scr): mkimage makes it with `-T script`"));
    }
    let mut header = image[..HEADER.min(image.len())].to_vec();
    let asked = word(image, 4);
    if let Some(crc) = header.get_mut(4..8) {
        crc.fill(0);
    }
    let data = &image[HEADER.min(image.len())..];
    if header.len() < HEADER
        || asked != Some(crc32fast::hash(&header))
        || word(image, 24) != Some(crc32fast::hash(data))
    {
        return Err(EditError::Format("its checksums are wrong: the file is damaged"));
    }
    // A list of lengths that ends with 0, then the texts: a script has one.
    let length = word(data, 0).and_then(|length| usize::try_from(length).ok()).unwrap_or(0);
    let text = data.get(8..8 + length.min(data.len().saturating_sub(8))).unwrap_or_default();
    match (word(data, 4), std::str::from_utf8(text)) {
        (Some(0), Ok(text)) if text.len() == length => Ok(text.trim_end_matches('\0').to_owned()),
        _ => Err(EditError::Format("its script cannot be read")),
    }
}

/// An image like `original` with other commands.
fn image(original: &[u8], source: &str) -> Result<Vec<u8>, EditError> {
    let too_long = |_| EditError::Format("the script would be too long");
    let mut data = u32::try_from(source.len()).map_err(too_long)?.to_be_bytes().to_vec();
    data.extend_from_slice(&[0; 4]);
    data.extend_from_slice(source.as_bytes());
    let mut header = original[..HEADER].to_vec();
    header[4..8].fill(0);
    header[12..16].copy_from_slice(&u32::try_from(data.len()).map_err(too_long)?.to_be_bytes());
    header[24..28].copy_from_slice(&crc32fast::hash(&data).to_be_bytes());
    let crc = crc32fast::hash(&header);
    header[4..8].copy_from_slice(&crc.to_be_bytes());
    header.extend_from_slice(&data);
    Ok(header)
}

/// The script image with the variant's variables and the arguments.
pub fn edit(original: &[u8], asked: &Asked, variable: &str) -> Result<Vec<u8>, EditError> {
    let edited = script::edit(&source(original)?, asked, variable)?;
    image(original, &edited)
}

#[cfg(test)]
mod tests {
    use super::super::Arguments;
    use super::*;

    /// `mkimage -A arm -T script -C none -n test -d SOURCE` of u-boot-tools 2023.01, with SOURCE_DATE_EPOCH=0.
    const MKIMAGE: &[u8] = include_bytes!("testdata/boot.scr");

    #[test]
    fn an_image_of_mkimage_is_read_and_made_again_byte_for_byte() {
        let text = source(MKIMAGE).unwrap();
        assert_eq!(text, "setenv bootargs console=ttyS0 root=/dev/mmcblk0p2 rw\nbootz 0x1000 - 0x2000\n");
        assert_eq!(image(MKIMAGE, &text).unwrap(), MKIMAGE);
        let asked = Asked { arguments: Arguments { isolcpus: Some("1".into()), append: vec![] }, ..Asked::default() };
        let edited = source(&edit(MKIMAGE, &asked, ARGUMENTS).unwrap()).unwrap();
        assert_eq!(edited, text.replace("p2 rw", "p2 rw isolcpus=1"));
    }

    #[test]
    fn damage_is_seen() {
        for at in 0..MKIMAGE.len() {
            let mut image = MKIMAGE.to_vec();
            image[at] ^= 0x20;
            assert!(source(&image).is_err(), "byte {at}");
            assert!(source(&MKIMAGE[..at]).is_err(), "cut at {at}");
        }
    }
}
