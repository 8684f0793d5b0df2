"""How facts are shown: to people in columns, to programs as JSON or CSV."""
