"""Rotations of space as unit quaternions (x, y, z, w), as in `scipy.spatial.transform`. They are pytrees."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from laminax_ir.pytrees.pytree import register_dataclass
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.arguments import inexact, strong
from laminax._src.numerics.numpy.linalg import factorizations, norms
from laminax._src.numerics.random import samplers

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


def _vectors(name: str, x: Any, size: int) -> Any:
    x = jnp.asarray(inexact(name, x))
    if x.ndim not in (1, 2) or x.shape[-1] != size:
        raise ValueError(f"Rotation.{name}: expected [{size}] or [n, {size}], got {get_aval(x).str_short()}")
    return x


def _sinc(x: Any) -> Any:
    """sin(x) / x."""
    return jnp.sinc(x / math.pi)


def _norm(x: Any) -> Any:
    """The norm along the last axis, kept; its derivative at 0 is 0."""
    square = jnp.sum(x * x, axis=-1, keepdims=True)
    return jnp.where(square == 0, 0, jnp.sqrt(jnp.where(square == 0, 1, square)))


@register_dataclass
@dataclass(frozen=True)
class Rotation:
    """One rotation, or several along an axis.

    Args:
      quat: [4] or [n, 4], unit quaternions with the scalar last; `from_quat` makes others such.

    Example:
      >>> quarter = Rotation.from_euler("z", 90., degrees=True)
      >>> quarter.apply(jnp.array([1., 0., 0.]))
      Array([0., 1., 0.], dtype=float32)
      >>> quarter.as_matrix()
      Array([[ 0., -1.,  0.],
             [ 1.,  0.,  0.],
             [ 0.,  0.,  1.]], dtype=float32)
    """

    quat: Any

    # --- other forms ---

    @classmethod
    def from_quat(cls, quat: Any) -> Rotation:
        """Of quaternions of any length but 0, [4] or [n, 4]."""
        quat = _vectors("from_quat", quat, 4)
        return cls(quat / norms.norm(quat, axis=-1, keepdims=True))

    @classmethod
    def from_matrix(cls, matrix: ArrayLike) -> Rotation:
        """Of orthogonal matrices of determinant 1, [3, 3] or [n, 3, 3]."""
        m = jnp.asarray(inexact("from_matrix", matrix))
        if m.ndim not in (2, 3) or m.shape[-2:] != (3, 3):
            raise ValueError(f"Rotation.from_matrix: expected [3, 3] or [n, 3, 3], got {get_aval(m).str_short()}")
        (a, b, c), (d, e, f), (g, h, i) = ([m[..., r, s] for s in range(3)] for r in range(3))
        products = jnp.stack([jnp.stack(row, -1) for row in (  # four times the products of the quaternion's parts
            (1 + a - e - i, b + d, c + g, h - f), (b + d, 1 - a + e - i, f + h, c - g), (c + g, f + h, 1 - a - e + i, d - b),
            (h - f, c - g, d - b, 1 + a + e + i))], -2)
        best = jnp.argmax(jnp.diagonal(products, axis1=-2, axis2=-1), axis=-1)
        return cls.from_quat(jnp.take_along_axis(products, best[..., None, None], axis=-2)[..., 0, :])

    @classmethod
    def from_rotvec(cls, rotvec: Any, degrees: bool = False) -> Rotation:
        """Of axes times angles, [3] or [n, 3]."""
        rotvec = _vectors("from_rotvec", rotvec, 3)
        rotvec = jnp.deg2rad(rotvec) if degrees else rotvec
        half = _norm(rotvec) / 2
        return cls(jnp.concatenate([rotvec * _sinc(half) / 2, jnp.cos(half)], axis=-1))

    @classmethod
    def from_mrp(cls, mrp: ArrayLike) -> Rotation:
        """Of modified Rodrigues parameters, axes times tan(angle / 4), [3] or [n, 3]."""
        mrp = _vectors("from_mrp", mrp, 3)
        square = jnp.sum(mrp * mrp, axis=-1, keepdims=True)
        return cls(jnp.concatenate([2 * mrp, 1 - square], axis=-1) / (1 + square))

    @classmethod
    def from_euler(cls, seq: str, angles: Any, degrees: bool = False) -> Any:
        """Of angles about axes, one after the other.

        Args:
          seq: one to three of "xyz", axes that stay, or of "XYZ", axes that turn.
          angles: a scalar or [n] for one axis; [k] or [n, k] for k of them.
          degrees: whether the angles are degrees.
        """
        axes, is_intrinsic = _axes("from_euler", seq)
        angles = jnp.asarray(strong(inexact("from_euler", angles)))
        angles = jnp.deg2rad(angles) if degrees else angles
        if len(axes) == 1 and angles.ndim < 2 and angles.shape != (1,):
            angles = angles[..., None]
        if angles.ndim not in (1, 2) or angles.shape[-1] != len(axes):
            raise ValueError(f"Rotation.from_euler: the angles about {seq!r} must be [{len(axes)}] or [n, {len(axes)}], got "
                             f"{get_aval(angles).str_short()}")
        result = None
        for k, axis in enumerate(axes):
            half = angles[..., k] / 2
            turn = cls(jnp.stack([jnp.sin(half) if i == axis else jnp.zeros_like(half) for i in range(3)] + [jnp.cos(half)], axis=-1))
            result = turn if result is None else result * turn if is_intrinsic else turn * result
        return result

    @classmethod
    def identity(cls, num: int | None = None, dtype: Any = float) -> Rotation:
        """The rotation that leaves everything in place, or `num` of them."""
        quat = jnp.array([0, 0, 0, 1], dtype=dtypes.check_user_dtype_supported(dtype, "Rotation.identity"))
        return cls(quat if num is None else jnp.tile(quat, (num, 1)))

    @classmethod
    def random(cls, random_key: ArrayLike, num: int | None = None) -> Rotation:
        """A rotation drawn uniformly, or `num` of them."""
        return cls.from_quat(samplers.normal(random_key, (4,) if num is None else (num, 4)))

    @classmethod
    def concatenate(cls, rotations: Sequence[Rotation]) -> Any:
        """All of several rotations, one after the other."""
        return cls(jnp.concatenate([jnp.atleast_2d(r.quat) for r in rotations]))

    def as_quat(self, canonical: bool = False, scalar_first: bool = False) -> Array:
        """Quaternions; of the two of a rotation, the canonical one has a positive scalar (or first nonzero part)."""
        quat = self.quat
        if canonical:
            x, y, z, w = (quat[..., i] for i in range(4))
            turned = (w < 0) | (w == 0) & ((x < 0) | (x == 0) & ((y < 0) | (y == 0) & (z < 0)))
            quat = jnp.where(turned[..., None], -quat, quat)
        return jnp.roll(quat, 1, axis=-1) if scalar_first else quat

    def as_matrix(self) -> Array:
        """Matrices, [3, 3] or [n, 3, 3]."""
        x, y, z, w = (self.quat[..., i] for i in range(4))
        rows = ((x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)),
                (2 * (x * y + z * w), -x * x + y * y - z * z + w * w, 2 * (y * z - x * w)),
                (2 * (x * z - y * w), 2 * (y * z + x * w), -x * x - y * y + z * z + w * w))
        return jnp.stack([jnp.stack(row, -1) for row in rows], -2)

    def as_rotvec(self, degrees: bool = False) -> Array:
        """Axes times angles, which are at most pi."""
        quat = self.as_quat(canonical=True)
        length, w = _norm(quat[..., :3]), quat[..., 3:]
        half = jnp.arctan2(length, w)
        vector = quat[..., :3] * 2 / _sinc(half)  # the length is sin(half)
        return jnp.rad2deg(vector) if degrees else vector

    def as_mrp(self) -> Array:
        """Modified Rodrigues parameters, axes times tan(angle / 4)."""
        w = self.quat[..., 3:]
        return self.quat[..., :3] * jnp.where(w < 0, -1, 1) / (1 + jnp.abs(w))

    def as_euler(self, seq: str, degrees: bool = False) -> Array:
        """Angles about three axes, [3] or [n, 3]; see `from_euler`. Where they are not unique, the third is 0.

        Source: E. Bernardes and S. Viollet, "Quaternion to Euler Angles Conversion", PLoS ONE 17 (2022).
        """
        axes, is_intrinsic = _axes("as_euler", seq)
        if len(axes) != 3 or axes[0] == axes[1] or axes[1] == axes[2]:
            raise ValueError(f"Rotation.as_euler: three axes are expected, neighbours different; got {seq!r}")
        i, j, k = axes[::-1] if is_intrinsic else axes
        is_symmetric = i == k
        k = 3 - i - j if is_symmetric else k
        sign = (i - j) * (j - k) * (k - i) // 2
        qi, qj, qk, w = (self.quat[..., p] for p in (i, j, k, 3))
        a, b, c, d = (w, qi, qj, qk * sign) if is_symmetric else (w - qj, qi + qk * sign, qj + w, qk * sign - qi)
        middle = 2 * jnp.arctan2(jnp.hypot(c, d), jnp.hypot(a, b))
        half_sum, half_difference = jnp.arctan2(b, a), jnp.arctan2(d, c)
        small = 1e-7 if self.quat.dtype == np.float64 else 1e-3
        at_zero, at_pi = jnp.abs(middle) <= small, jnp.abs(middle - math.pi) <= small
        inner, outer = half_sum - half_difference, half_sum + half_difference
        first, third = (outer, inner) if is_intrinsic else (inner, outer)
        if not is_symmetric:
            first, third = (first * sign, third) if is_intrinsic else (first, third * sign)
            middle = middle - math.pi / 2
        locked = jnp.where(at_zero, 2 * half_sum, 2 * half_difference * (1 if is_intrinsic else -1))
        if not is_symmetric and is_intrinsic:
            locked = locked * sign
        is_locked = at_zero | at_pi
        angles = jnp.stack([jnp.where(is_locked, locked, first), middle, jnp.where(is_locked, 0, third)], axis=-1)
        angles = (angles + math.pi) % (2 * math.pi) - math.pi
        return jnp.rad2deg(angles) if degrees else angles

    # --- what they do ---

    @property
    def single(self) -> bool:
        """Whether it is one rotation."""
        return self.quat.ndim == 1

    def __len__(self) -> int:
        if self.single:
            raise TypeError("Single rotation has no len().")
        return self.quat.shape[0]

    def __getitem__(self, indexer: Any) -> Rotation:
        if self.single:
            raise TypeError("Single rotation is not subscriptable.")
        return Rotation(self.quat[indexer])

    def __mul__(self, other: Rotation) -> Rotation:
        """The other rotation, and then this one."""
        if not isinstance(other, Rotation):
            return NotImplemented
        p, q = self.quat, other.quat
        vector = p[..., 3:] * q[..., :3] + q[..., 3:] * p[..., :3] + jnp.cross(p[..., :3], q[..., :3])
        scalar = p[..., 3:] * q[..., 3:] - jnp.sum(p[..., :3] * q[..., :3], axis=-1, keepdims=True)
        return Rotation.from_quat(jnp.concatenate([vector, scalar], axis=-1))

    def apply(self, vectors: ArrayLike, inverse: bool = False) -> Any:
        """The rotated vectors, [3] or [n, 3]; turned back with `inverse`."""
        vectors = _vectors("apply", vectors, 3)
        matrix = self.as_matrix()
        return jnp.einsum("...ji,...j->...i" if inverse else "...ij,...j->...i", matrix, vectors, precision="highest")

    def inv(self) -> Rotation:
        """The rotations back."""
        return Rotation(jnp.concatenate([-self.quat[..., :3], self.quat[..., 3:]], axis=-1))

    def magnitude(self) -> Array:
        """The angles, from 0 to pi."""
        return 2 * jnp.arctan2(_norm(self.quat[..., :3])[..., 0], jnp.abs(self.quat[..., 3]))

    def mean(self, weights: ArrayLike | None = None) -> Rotation:
        """The rotation nearest to all, by the squares of the distances of their matrices; weights [n] are equal by default."""
        quat = jnp.atleast_2d(self.quat)
        weighted = quat if weights is None else jnp.asarray(weights)[:, None] * quat
        _, vectors = factorizations.eigh(jnp.matmul(weighted.T, quat, precision="highest"))
        return Rotation.from_quat(vectors[:, -1])


def _axes(name: str, seq: str) -> tuple[list[int], bool]:
    lower = seq.lower() if isinstance(seq, str) else ""
    if not 1 <= len(lower) <= 3 or not set(lower) <= set("xyz") or seq not in (lower, lower.upper()):
        raise ValueError(f"Rotation.{name}: seq must be one to three of 'xyz', or of 'XYZ', got {seq!r}")
    return ["xyz".index(c) for c in lower], seq != lower


@register_dataclass
@dataclass(frozen=True)
class Slerp:
    """Interpolation between rotations at constant angular velocity; made by `Slerp.init`.

    Example:
      >>> quarters = Rotation.from_euler("z", jnp.array([[0.], [90.]]), degrees=True)
      >>> between = Slerp.init(jnp.array([0., 1.]), quarters)
      >>> between(jnp.array([0.25])).as_euler("xyz", degrees=True)
      Array([[ 0. ,  0. , 22.5]], dtype=float32)
    """

    times: Any
    timedelta: Any
    rotations: Rotation
    rotvecs: Any

    @classmethod
    def init(cls, times: ArrayLike, rotations: Rotation) -> Slerp:
        """The interpolation of rotations at given times, ascending.

        Args:
          times: [n].
          rotations: n of them, at least two.
        """
        if not isinstance(rotations, Rotation):
            raise TypeError(f"Slerp.init: rotations must be a Rotation, got {rotations!r}")
        times = jnp.asarray(inexact("Slerp.init", times))
        if rotations.single or len(rotations) < 2 or times.shape != (len(rotations),):
            raise ValueError("Slerp.init: there must be at least two rotations, and a time for each; got times "
                             f"{get_aval(times).str_short()} and quaternions {get_aval(rotations.quat).str_short()}")
        return cls(times, jnp.diff(times), rotations, (rotations[:-1].inv() * rotations[1:]).as_rotvec())

    def __call__(self, times: Any) -> Rotation:
        """The rotations at times, a scalar or [n], between the first and the last."""
        times = jnp.asarray(times)
        i = jnp.clip(jnp.searchsorted(self.times, times, side="right") - 1, 0, len(self.timedelta) - 1)
        part = (times - self.times[i]) / self.timedelta[i]
        return self.rotations[i] * Rotation.from_rotvec(self.rotvecs[i] * part[..., None])
