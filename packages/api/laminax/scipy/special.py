"""Special functions, as in `scipy.special`. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "numerics.numpy.logarithmic_sums": "logsumexp",
    "numerics.scipy.hypergeometric": "hyp2f1",
    "numerics.scipy.combinatorics": "bernoulli boxcox boxcox1p comb poch",
    "numerics.scipy.integral_functions": "dawsn erfcx exp1 expi expn fresnel owens_t sici spence wofz",
    "numerics.scipy.recurrences": "bessel_jn hyp1f1 sph_harm_y zeta",
    "numerics.scipy.special": "digamma erf erfc erfinv expit gammaln i0 i0e i1 i1e log_softmax logit softmax",
    "numerics.scipy.gamma_functions": """
        beta betainc betaln factorial gamma gammainc gammaincc gammasgn loggamma multigammaln polygamma""",
    "numerics.scipy.entropies": "entr kl_div rel_entr xlog1py xlogy",
    "numerics.scipy.normal_distribution": "erfcinv log_ndtr ndtr ndtri",
})
