//! Which of many texts answer a query: words, vectors, and what is known of code.
