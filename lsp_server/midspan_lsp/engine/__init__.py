"""The story of one request, from the cursor to a suggestion."""
