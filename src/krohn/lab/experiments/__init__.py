"""The paper's experiments: recipes of complete run configs, a resumable sweep, and the store of results."""
