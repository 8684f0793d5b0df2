"""The paper's five steps, a file each."""
