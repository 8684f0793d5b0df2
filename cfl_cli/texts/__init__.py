"""What texts look like: numbers, dates, scales, lists, codes. No schema is known here."""
