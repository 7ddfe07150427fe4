"""The ground: JSON, files written whole, folders, SVG, tables, budgets, elementary functions, plugins."""
