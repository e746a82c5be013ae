"""Which image this operator runs from: the Pods that read a member's log run from the same one."""

from app.kube.api import Api
from app.kube.resources import PODS


class OwnImage:
    """Finds the image once, when it is first needed."""

    def __init__(self, api: Api, *, namespace: str, pod: str, image: str = "") -> None:
        """Look at the Pod that this process runs in, unless ``image`` says it."""
        self._api = api
        self._namespace = namespace
        self._pod = pod
        self._image = image

    async def find(self) -> str:
        """The image's reference. Raises `KubeError` where the Pod can't be read."""
        if not self._image:
            found = await self._api.get(PODS, self._namespace, self._pod)
            self._image = found.spec.containers[0].image
        return self._image
