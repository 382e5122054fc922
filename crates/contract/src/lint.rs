//! Rules that judge a definition.
