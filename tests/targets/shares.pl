# Spends its time in known shares.
#
#     shares.pl SECONDS [THREADS]
#
# 60, 30 and 10 percent go to the subs of these names, which spin: called as a
# method, from a closure, and from C, where exceptions are caught. Then there are
# subs that compare for sort, code in a string, and a child. Prints "ready", and
# at the end, or without THREADS at SIGTERM, the shares of the CPU time that the
# first and the last had.
use strict;
use warnings;
use List::Util ();
use Time::HiRes ();

$| = 1;

package Shop;

sub spin {
    my ($n) = @_;
    my $total = 0;
    for my $i (1 .. $n) {
        $total += $i % 7;
    }
    return $total;
}

package Shop::Cart;

sub new { return bless {}, shift }

sub share_60 {
    my ($self) = @_;
    for (1 .. 60) {
        Shop::spin(300);
    }
}

package main;

my $share_30 = sub {
    my $i = 0;
    while ($i++ < 30) {
        Shop::spin(300);
    }
};

sub tried {
    return eval {
        Shop::spin(300);
        1;
    };
}

sub share_10 {
    return List::Util::first { !tried() && 0 * $_ } 1 .. 10;
}

sub by_sum {
    return Shop::spin(40 + $a) <=> Shop::spin(40 + $b);
}

sub sorts {
    my @sorted = sort by_sum 1 .. 20;
    return sort { $b <=> $a } @sorted;
}

sub in_a_string {
    return eval 'sub { Shop::spin($_[0]) }->(2000)';
}

my @spent = (0, 0, 0);

sub work {
    my ($till) = @_;
    my $cart = Shop::Cart->new;
    while (Time::HiRes::time() < $till) {
        Shop::spin(rand 10_000); # or the loop keeps step with the samples
        my @times = (Time::HiRes::clock());
        $cart->share_60;
        push @times, Time::HiRes::clock();
        $share_30->();
        push @times, Time::HiRes::clock();
        share_10();
        push @times, Time::HiRes::clock();
        $spent[$_] += $times[ $_ + 1 ] - $times[$_] for 0 .. 2;
    }
}

my ($seconds, $threads) = @ARGV;
my $till = Time::HiRes::time() + $seconds;
my @threads;
if ($threads) {
    require threads;
    @threads = map { threads->create(\&work, $till) } 1 .. $threads;
}
$SIG{TERM} = sub { $till = 0 } unless $threads;
print "ready\n";
while (Time::HiRes::time() < $till) {
    work(Time::HiRes::time() + 0.1);
    sorts() for 1 .. 20;
    in_a_string() for 1 .. 20;
    my $pid = fork // die;
    if (!$pid) {
        Shop::spin(100_000);
        exit 0;
    }
    waitpid $pid, 0;
}
$_->join for @threads;
my $all = List::Util::sum(@spent);
printf "%.4f %.4f\n", $spent[0] / $all, $spent[2] / $all;
