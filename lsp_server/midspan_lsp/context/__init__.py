"""What the model is shown: the text on both sides of the cursor, and how long a middle is wanted."""
