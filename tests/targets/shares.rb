# Spends its time in known shares.
#
#     shares.rb SECONDS
#
# 60, 30 and 10 percent go to the methods of these names, in two threads. Prints
# "ready".
$stdout.sync = true

def spin(n)
  total = 0
  i = 0
  while i < n
    total += i % 7
    i += 1
  end
  total
end

def share_60
  60.times { spin(100) }
end

def share_30
  30.times { spin(100) }
end

def share_10
  10.times { spin(100) }
end

def now
  Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

def work(till)
  while now < till
    share_60
    share_30
    share_10
    spin(rand(20_000)) # or the loop keeps step with the samples
  end
end

till = now + ARGV[0].to_f
thread = Thread.new { work(till) }
puts "ready"
work(till)
thread.join
