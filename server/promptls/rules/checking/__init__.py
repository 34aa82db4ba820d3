"""All findings of a file, kept from one text to the next for as long as nothing changes them."""
