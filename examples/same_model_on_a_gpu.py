"""Can the same model run on a GPU?
===================================

With ``device="cuda"``, a fit runs on a GPU. Maps draw the same parameters as on the CPU, so a seed gives the same model
on both. Without a GPU, as on the computer that built this page, the example uses torch tensors on the CPU.
"""

from __future__ import annotations

import numpy as np
from matplotlib import pyplot
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from mercer import KernelClassifier, StructuredFourier

try:
    import torch
except ImportError:
    torch = None

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X.astype(np.float32) / 16, y, random_state=0)

# %%
# A model that was fitted on the CPU accepts rows from any device, and returns the same kind of array.

model = KernelClassifier("gaussian(0.05)", n_components=512, loss="squared", random_state=0).fit(X_train, y_train)
print(f"on the CPU: {model.score(X_test, y_test):.1%}")
if torch is not None:
    place = "cuda" if torch.cuda.is_available() else "cpu"
    rows = torch.asarray(X_test, device=place)
    predicted = model.predict(rows)
    same = np.mean(predicted.cpu().numpy() == model.predict(X_test))
    print(f"torch rows on {place}: {type(predicted).__module__} labels, {same:.1%} of them the same")

# %%
# If there is a GPU, the fit itself can run there. Its predictions agree with those from the CPU up to rounding.

if torch is not None and torch.cuda.is_available():
    there = KernelClassifier("gaussian(0.05)", n_components=512, loss="squared", random_state=0, device="cuda")
    print(f"fitted on the GPU: {there.fit(X_train, y_train).score(X_test, y_test):.1%}")
else:
    print("no GPU here: KernelClassifier(..., device='cuda') would be an error")

# %%
# The same holds for a map on its own: the seed determines its parameters, wherever the rows are.

map = StructuredFourier("gaussian(0.05)", n_components=1024, random_state=0).fit(X_train)
Z = map.transform(X_test)
if torch is not None:
    there = map.transform(torch.asarray(X_test, device=place)).cpu().numpy()
    print(f"largest difference between features: {np.abs(Z - there).max():.1e}")

figure, axes = pyplot.subplots(1, 2, figsize=(8, 3), layout="constrained", sharey=True)
for panel, features, title in ((axes[0], Z, "on the processor"), (axes[1], Z if torch is None else there, "torch")):
    panel.imshow(features[:40, :80], cmap="RdBu", aspect="auto")
    panel.set(title=f"features {title}", xlabel="feature")
axes[0].set(ylabel="row")
pyplot.show()
