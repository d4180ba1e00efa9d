"""An answer that the time limit ends anywhere is refused in a line, or given: never a signal.

Errors leave the program by whatever frames they meet, those of libc too (std::call_once), which unwind
by a library of their own where the program has another one inside.

usage: time_limits.py PROGRAM
"""
import subprocess
import sys

COMMANDS = (["solve", "critical", "gelu", "--digits", "80"],
            ["solve", "gain", "tanh", "--digits", "60"],
            ["activation", "mish", "--digits", "40"],
            ["activation", "--expr", "x*tanh(exp(x))", "--digits", "30"],
            ["propagate", "gpt2"],
            ["propagate", "t5-base", "--layers", "2"])
LIMITS = [2e-4 * 1.26**k for k in range(26)]  # to 0.065 s


def main():
    program = sys.argv[1]
    failures, ended = [], 0
    for command in COMMANDS:
        for limit in LIMITS:
            run = subprocess.run([program, *command, "--time-limit", f"{limit:.6f}"],
                                 capture_output=True, text=True)
            if run.returncode not in (0, 2):
                failures.append(f"{' '.join(command)} --time-limit {limit:.6f}: exit {run.returncode}, "
                                f"{run.stderr.strip()[:200]!r}")
            elif run.returncode == 2:
                ended += 1
                if len(run.stderr.strip().splitlines()) != 1:
                    failures.append(f"{' '.join(command)}: {run.stderr!r}")
    print("\n".join(failures))
    if ended < len(COMMANDS):
        sys.exit(f"{ended} answers were ended: the limits are not below what they take")
    sys.exit(1 if failures else 0)


main()
