"""What every stage needs of language, once: sentences, words and stems, names, dates, languages."""
