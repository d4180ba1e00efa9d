"""The fixtures that the package gives pytest."""

from importlib.metadata import entry_points

from two_claims import CLAIMS


def run(pytester):
    is_known = any(one.value == "scalecalc.pytest_plugin" for one in entry_points(group="pytest11"))
    named = [] if is_known else ["-p", "scalecalc.pytest_plugin"]  # as it is built, not installed
    return pytester.runpytest_subprocess(*named, "-p", "no:cacheprovider")


def test_claims_that_hold_pass(pytester):
    pytester.makefile(".toml", one=CLAIMS.format(sum=2), two=CLAIMS.format(sum="6/3"))
    pytester.makepyfile("def test_claims(assert_claims): assert assert_claims('*.toml').count == 4")
    run(pytester).assert_outcomes(passed=1)


def test_a_claim_that_fails_is_named(pytester):
    pytester.makefile(".toml", one=CLAIMS.format(sum=2), two=CLAIMS.format(sum=3))
    pytester.makepyfile("def test_claims(assert_claims): assert_claims('one.toml', 'two.toml')")
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*1 of 4 claims fail*", "*sums: does not hold*"])


def test_no_file_is_an_error(pytester):
    pytester.makepyfile("def test_claims(assert_claims): assert_claims('none/*.toml')")
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*InputError*none/*"])


def test_init_without_a_description_is_an_error(pytester):
    pytester.makepyfile("def test_init(assert_init): assert_init(object())")
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*module must be a torch.nn.Module (got object)*"])
