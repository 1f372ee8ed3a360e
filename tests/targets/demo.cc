/*
 * The demo service: a small "AI service" that keeps busy the way real ones
 * do: requests are parsed, tokenized, embedded, looked up, ranked and
 * answered by a pool of threads, while a few others mostly wait.
 *
 *	demo [THREADS [BUSY_PERCENT]]
 */
#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <pthread.h>
#include <random>
#include <regex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#define NOINLINE __attribute__((noinline))

namespace tokenizer
{
NOINLINE std::vector<std::string>
split(const std::string &text)
{
	std::vector<std::string> words;
	std::string word;

	for (char c : text) {
		if (c != ' ') {
			word.push_back(c);
			continue;
		}
		words.push_back(std::move(word));
		word.clear();
	}
	words.push_back(std::move(word));
	return words;
}

NOINLINE uint32_t
encode(const std::string &word)
{
	uint32_t h = 2166136261u;

	for (int round = 0; round < 40; round++)
		for (unsigned char c : word)
			h = (h ^ c) * 16777619u;
	return h;
}
} // namespace tokenizer

namespace model
{
constexpr size_t width = 96;
static std::vector<float> weights(width *width, 0.01f);

NOINLINE void
matmul(const std::vector<float> &in, std::vector<float> &out)
{
	for (size_t row = 0; row < width; row++) {
		float sum = 0;

		for (size_t col = 0; col < width; col++)
			sum += weights[row * width + col] * in[col];
		out[row] = sum;
	}
}

NOINLINE void
softmax(std::vector<float> &v)
{
	float sum = 0;

	for (float &x : v)
		sum += x = std::exp(x);
	for (float &x : v)
		x /= sum;
}

NOINLINE std::vector<float>
embed(const std::vector<uint32_t> &tokens)
{
	std::vector<float> a(width), b(width);

	for (size_t i = 0; i < tokens.size(); i++)
		a[i % width] += float(tokens[i] % 1000) / 1000.0f;
	for (int layer = 0; layer < 24; layer++) {
		matmul(a, b);
		softmax(b);
		std::swap(a, b);
	}
	return a;
}
} // namespace model

namespace cache
{
static std::mutex mutex;
static std::map<uint32_t, std::string> entries;

NOINLINE void
store(uint32_t key, std::string value)
{
	std::lock_guard<std::mutex> hold(mutex);

	entries[key % 50000] = std::move(value);
}

NOINLINE bool
lookup(uint32_t key)
{
	std::lock_guard<std::mutex> hold(mutex);

	return entries.count(key % 50000) > 0;
}
} // namespace cache

namespace ranking
{
NOINLINE std::vector<uint32_t>
rank(std::vector<uint32_t> candidates)
{
	std::sort(candidates.begin(), candidates.end(),
	          [](uint32_t a, uint32_t b) {
			  return (a * 2654435761u) < (b * 2654435761u);
		  });
	return candidates;
}
} // namespace ranking

namespace server
{
static std::mutex mutex;
static std::condition_variable ready;
static std::deque<std::string> queue;

NOINLINE bool
validate(const std::string &request)
{
	static const std::regex shape("([a-z]+ )*[a-z]+");

	return std::regex_match(request.substr(0, 60), shape);
}

NOINLINE void
handle(const std::string &request)
{
	std::vector<uint32_t> tokens;

	validate(request.substr(0, request.rfind(' ', 60)));
	for (const std::string &word : tokenizer::split(request))
		tokens.push_back(tokenizer::encode(word));
	std::vector<float> embedding = model::embed(tokens);
	std::vector<uint32_t> candidates;
	for (uint32_t i = 0; i < 600; i++)
		candidates.push_back(tokens[i % tokens.size()] + i * 7919u);
	for (uint32_t c : candidates)
		cache::lookup(c);
	std::vector<uint32_t> best = ranking::rank(std::move(candidates));
	cache::store(best[0], request + std::to_string(embedding[0]));
}

NOINLINE std::string
receive(std::mt19937 &random)
{
	static const char *const words[] = {"what",     "is", "the",  "hottest",
	                                    "function", "of", "this", "service",
	                                    "right",    "now"};
	std::string text;

	for (int i = 0; i < 60; i++)
		text += std::string(words[random() % 10]) + " ";
	return text + "please";
}

/* Keeps about percent of a CPU busy, since real services rest between
 * requests. */
void
work(unsigned seed, int percent)
{
	std::mt19937 random(seed);

	for (;;) {
		auto start = std::chrono::steady_clock::now();
		for (int i = 0; i < 10; i++)
			handle(receive(random));
		auto busy = std::chrono::steady_clock::now() - start;
		if (percent < 100)
			std::this_thread::sleep_for(busy * (100 - percent) /
			                            percent);
	}
}

void
wait_for_work()
{
	std::unique_lock<std::mutex> hold(mutex);

	ready.wait(hold, [] { return !queue.empty(); });
}
} // namespace server

int
main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 3;
	int percent = argc > 2 ? atoi(argv[2]) : 8;
	std::vector<std::thread> pool;

	for (int i = 0; i < threads; i++) {
		pool.emplace_back(server::work, unsigned(i), percent);
		pthread_setname_np(pool.back().native_handle(), "request");
	}
	for (int i = 0; i < 2; i++) {
		pool.emplace_back(server::wait_for_work);
		pthread_setname_np(pool.back().native_handle(), "idle");
	}
	for (std::thread &t : pool)
		t.join();
	return 0;
}
