//! The files of a project: which there are, which changed, and which hold a text.
