"""A shop that is asked for prices all the time, for the pictures of README.md.

A line in the file that its argument names makes discounts cost more: what a
release would that looks through all of them for each article.
"""
import os
import sys
import time

FLAG = sys.argv[1]
ARTICLES = [{'name': f'article {i}', 'price': 5 + i % 90} for i in range(300)]
DISCOUNTS = [(i * 3, i % 20) for i in range(40)]


def apply_discount(price, rounds):
    best = 0
    for _ in range(rounds):
        for least, percent in DISCOUNTS:
            if price >= least and percent > best:
                best = percent
    return price * (100 - best) / 100


def render_article(article, price):
    row = ''
    for letter in article['name']:
        row += '&' if letter == ' ' else letter
    return f'<li>{row}: {price:.2f}</li>'


def tax_of(price):
    total = 0.0
    for rate in (19, 7, 3, 1):
        total += price * rate / 100
    return total


def show_basket(rounds):
    page = []
    for article in ARTICLES:
        price = apply_discount(article['price'], rounds)
        page.append(render_article(article, price + tax_of(price)))
    return ''.join(page)


def serve():
    while True:
        rounds = 3 if os.path.exists(FLAG) else 1
        for _ in range(20):
            show_basket(rounds)
        time.sleep(0.05)


serve()
