# Has C call Perl in every way, each within the one before.
#
#     calls.pl SECONDS [WAYS]
#
# WAYS limits how many. Prints "ready".
use strict;
use warnings;
use List::Util ();

$| = 1;
my @left;

sub spin {
    my $total = 0;
    $total += $_ % 7 for 1 .. 3000;
    return $total;
}

sub onward {
    my $next = shift @left;
    return $next ? $next->() : spin();
}

package Sum {
    use overload '+' => sub { main::onward(); 1 };
}

package Tied {
    sub TIESCALAR { return bless [], shift }
    sub FETCH     { main::onward(); return 1 }
}

package Ends {
    sub DESTROY { return main::onward() }
}

package main;

unshift @INC, sub {
    return if $_[1] ne 'Made.pm';
    my $text = "\nmain::onward();\n";
    open my $file, '<', \$text or die;
    return $file;
};

sub compares { onward(); return $a <=> $b }

sub by_sort_block { return my @sorted = sort { onward(); $b <=> $a } 1, 2 }
sub by_sort_sub   { return my @sorted = sort compares 2, 1 }
sub by_first      { return List::Util::first { onward(); 1 } 1, 2 }
sub by_reduce     { return List::Util::reduce { onward(); $a } 1, 2 }
sub by_overload   { my $sum = bless [], 'Sum'; return $sum + 1 }
sub by_tie        { tie my $tied, 'Tied'; my $got = $tied; return $got }
sub by_destroy    { my $ends = bless [], 'Ends'; undef $ends; return }
sub by_pattern    { return 'a' =~ /a(?{ onward() })/ }
sub by_string     { return eval "\nonward()" }
sub by_block      { return eval { onward(); 1 } }
sub by_require    { delete $INC{'Made.pm'}; return require Made }
sub by_substitute { return 'a' =~ s/(a)/onward()/er }
sub by_goto       { goto &onward }

sub by_signal {
    local $SIG{USR1} = sub { onward() };
    kill USR1 => $$;
    return;
}

my @ways = (
    \&by_sort_block, \&by_first,   \&by_block,   \&by_string,   \&by_pattern,
    \&by_require,    \&by_sort_sub, \&by_reduce, \&by_overload, \&by_tie,
    \&by_block,      \&by_destroy, \&by_signal,  \&by_block,    \&by_block,
    \&by_substitute, \&by_goto,
);
$#ways = $ARGV[1] - 1 if @ARGV > 1;
my $till = time + $ARGV[0];
print "ready\n";
while (time < $till) {
    @left = @ways;
    onward();
}
