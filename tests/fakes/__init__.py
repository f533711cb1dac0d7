"""Doubles of the outside services: real servers on a loopback port, in a thread, that speak the real protocols."""
