"""The schema of an answer."""

from foldline.guests.outputs import output_schemas


class Room:
    """A form of an answer, as Pydantic makes them."""

    @classmethod
    def model_json_schema(cls) -> dict[str, object]:
        """Return the schema."""
        return {"title": cls.__name__}


def test_a_schema_and_a_model_and_a_list_of_models_have_schemas() -> None:
    """Whatever else a framework takes as a form is no schema."""
    schema = [{"title": "Room"}]

    assert [output_schemas(one) for one in (schema[0], Room, list[Room])] == [schema] * 3
    assert output_schemas(str | Room) == schema
    assert [output_schemas(one) for one in (None, str, "Room", Room())] == [[]] * 4
