"""Schemas as we hold ourselves to them: readers let unknown members be, and we write none."""


def closed(schema):
    """The schema, with no room for members that it does not describe."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    shut = {key: closed(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and "type" in schema:
        shut.setdefault("additionalProperties", False)
    return shut
