"""As share.c with "work"."""
import time


def share_60():
    total = 0
    for i in range(6000):
        total += i % 7
    return total


def share_30():
    total = 0
    for i in range(3000):
        total += i % 7
    return total


def share_10():
    total = 0
    for i in range(1000):
        total += i % 7
    return total


def main():
    rounds, printed = 0, 0.0
    while True:
        share_60()
        share_30()
        share_10()
        rounds += 1
        cpu = time.process_time()
        if cpu - printed >= 0.02:
            printed = cpu
            print(rounds, cpu, flush=True)


main()
