"""Predicted and true prices of the flats on the first page of the guide, whose rows the model has not seen."""

import datetime
import random

import pandas
from matplotlib import pyplot

import mercer

draw, factors = random.Random(0), {"Arl": 1.0, "Bree": 1.4, "Corvo": 2.0}
flats = []
for number in range(2000):
    area, town = round(draw.gammavariate(6, 12), 1), draw.choice(list(factors))
    sold = pandas.Timestamp(datetime.date(2024, 1, 1) + datetime.timedelta(days=draw.randrange(700)))
    price = round(area * factors[town] + draw.gauss(0, 5), 1)
    flats.append((None if number % 50 == 0 else area, town, sold, price))
table = mercer.data.open(pandas.DataFrame(flats, columns=["area", "town", "sold", "price"]), target="price")
train, test = table.split(test=0.25, seed=0)
model = mercer.KernelRegressor(random_state=0).fit(train)
figure, axes = pyplot.subplots(figsize=(4.4, 3.6))
for block, predicted in zip(test.blocks(), model.predict_blocks(test), strict=True):
    axes.plot(block.y, predicted, ".", color="#0072b2", markersize=4, alpha=0.6)
axes.axline((100, 100), slope=1, color="#1f2328", linewidth=1)
axes.set(xlabel="price", ylabel="predicted price")
