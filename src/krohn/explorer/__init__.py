"""The explorer: a page that runs compiled networks in the browser, and the server behind it."""
