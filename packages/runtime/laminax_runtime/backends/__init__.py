"""Clients, devices and meshes."""
