#!/usr/bin/env python3
"""tolerances.py finds each way to type a tolerance in, and passes over those with a reason."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tolerances  # noqa: E402

TYPED = [
    "CHECK(x == doctest::Approx(y).epsilon(1e-9));",
    "CHECK(x ==\n      doctest::Approx(f(y, 2)).epsilon(.05));",
    "REQUIRE(std::fabs(x - y) < 0.02);",
    "CHECK(found.error <= 1e-13 * size);",
    "CHECK(1e-6 > std::abs(x));",
    "CHECK(x < 1e-12);",
    "CHECK(x == near(f(2), 1e-12));",
    "constexpr double tolerance = 1e-9;",
    "const double kAllowed = 0.25 + spread;",
    "// far above\n\nCHECK(x < 1e-12);",
    "// of another block\nfor (;;) {\n  CHECK(x < 1e-12);\n}",
    "// a test\nTEST_CASE(\"a\") {\n  f();\n  CHECK(x < 1e-12);\n}",
]
REASONED = [
    "CHECK(x < 1e-12);  // 12 digits",
    "// h^2 of a second derivative\nCHECK(x < 1e-12);",
    "// h^2 of a second derivative\nconst double x = f();\nCHECK(x < 1e-12);",
    "// h^2\nCHECK(x < 1e-12);\nCHECK(y < 1e-12);\nCHECK(z < 1e-12);\nCHECK(a < 1e-12);\n"
    "CHECK(b < 1e-12);\nCHECK(c < 1e-12);",
    "constexpr double tolerance = 1e-9;  ///< of sums of a million terms",
    "// Rounding: 1e-15 a step.\nTEST_CASE(\"a\") {\n  f();\n  g();\n  CHECK(x < 1e-12);\n}",
]
COMPUTED = [
    "CHECK(x == rounded(y, 8));",
    "CHECK(x == printed(1.76, 5e-3));",
    "CHECK(std::fabs(x - y) <= found.error);",
    "CHECK(x == doctest::Approx(0.25).epsilon(8 * epsilon));",
    "CHECK(std::fabs(x) < rounding(64));",
    "CHECK(x > 0.5);",
    "CHECK(f(1e-9) == 0);",
    "CHECK(name == \"1e-9 < 1e-8\");",
    "for (const double x : {1e-9, 0.1}) {",
]


def main():
    failed = False
    for text in TYPED:
        if not list(tolerances.typed(text.split("\n"))):
            failed = True
            print(f"not found:\n{text}")
    for text in REASONED + COMPUTED:
        if list(tolerances.typed(text.split("\n"))):
            failed = True
            print(f"found without need:\n{text}")
    print(f"{len(TYPED)} typed in, {'some not found' if failed else 'all found'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
