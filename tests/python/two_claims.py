"""A file of claims for tests of what checks one: the second holds where `sum` is 2."""

CLAIMS = """title = "t"
[[claim]]
name   = "relu halves"
assert = "E[relu(z)^2] == q/2"
let    = {{ z = "normal(0, q)" }}
[[claim]]
name   = "sums"
assert = "1 + 1 == {sum}"
"""
