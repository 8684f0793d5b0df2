"""`cfl schema`: what a schema file may hold."""

from cfl_cli.cli.given import takes

EXAMPLE = "cfl schema > cfl.schema.json"


@takes("schema")
def schema() -> None:
    """Print the JSON Schema of schema files, for editors."""
    import json

    from cfl_cli.cli.signals import listen
    from cfl_cli.cli.streams import print_out
    from cfl_cli.schema.for_editors import json_schema

    listen()
    text = json.dumps(json_schema(), indent=2, ensure_ascii=False)
    print_out(f"{text}\n")
