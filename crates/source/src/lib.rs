//! What a source file says: its language, its pieces, what it imports and where that is.
