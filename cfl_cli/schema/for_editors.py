"""The JSON Schema of schema files, with which editors complete and check them."""

from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from cfl_cli.schema.model import Schema


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of schema files."""
    body = Schema.model_json_schema(schema_generator=_ForEditors)
    return {"$schema": GenerateJsonSchema.schema_dialect, **body}


class _ForEditors(GenerateJsonSchema):
    """JSON Schema without the null of what is left out, and without titles that repeat names."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        left_out = schema.get("default", ...) is None
        return self.generate_inner(schema["schema"]) if left_out else super().default_schema(schema)

    def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002 — pydantic's signature
        return False
