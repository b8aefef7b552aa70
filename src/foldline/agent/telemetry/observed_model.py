"""A model whose calls are watched wherever they are made."""

from foldline.agent.telemetry.observer import Observer
from foldline.providers.model import ChatModel, ChatRequest, ChatResponse, window_of


__all__ = ["ObservedModel"]


class ObservedModel:
    """
    A model that answers as another one does, and is watched while it does.

    It is for models that the loop does not ask itself, as that of a summarizer.
    """

    def __init__(self, model: ChatModel, observer: Observer) -> None:
        """Answer as *model* does, and have *observer* watch."""
        self._model = model
        self._observer = observer

    @property
    def name(self) -> str:
        """The identity of the model."""
        return self._model.name

    @property
    def context_window(self) -> int | None:
        """The tokens that the model can read and write at once; None where it does not say so."""
        return window_of(self._model)

    async def respond(self, request: ChatRequest) -> ChatResponse:
        """
        Return what the model says to *request*.

        Raises:
            ModelError: The model failed.
        """
        with self._observer.model_call(request, model=self._model.name) as answered:
            response = await self._model.respond(request)
            answered(response)
        return response
