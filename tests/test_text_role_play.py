"""O12: where a person plays a part, and where they only speak of playing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from lifelong.recall.analyzer import BEGINS_PLAY, ENDS_PLAY, extract_terms
from lifelong.text.role_play import LONGEST_PLAY, PlayMark, Plays

NOON = datetime(2026, 3, 5, 12, tzinfo=UTC)
PROPOSALS = [
    "Let's play: you are a doctor and I am a patient called Bob.",
    "Let's do a role play. I'm a customer named Reginald and you're the barista.",
    "Can we roleplay a job interview? You are the interviewer and I am the candidate.",
    "let's pretend I'm a pirate called Redbeard",
    "Let's pretend that I am the king of Spain",
    "Imagine you are a shopkeeper and I'm a thief.",
    "Roleplay: you're a detective, I'm the suspect.",
    "I want to practise English. Let's play a scene: you're the waiter, I'm a guest.",
    "Lass uns spielen: du bist der Arzt und ich bin ein Patient namens Bob.",
    "Stell dir vor, du bist der Verkäufer und ich bin ein Kunde.",
    "Rollenspiel: Du bist die Chefin, ich bin ein Bewerber.",
    "Juguemos: tú eres el médico y yo soy un paciente.",
    "Vamos a hacer un juego de rol: tú eres camarero y yo soy un cliente",
    "Jouons : tu es le médecin et je suis un patient.",
    "On joue : tu es la boulangère et moi le client.",
    "Faisons un jeu de rôle, je suis un client pressé.",
    "Pretend you're my landlord and I am the tenant. Start.",
    "I'd like to do a role play where I'm a spy.",
    "Let's play doctor. You be the doctor, I'll be the patient.",
    "I want to roleplay. I'm a knight, you are a dragon",
    "I'd like to role play a job interview, I'm the candidate and you are the recruiter",
    "Je veux faire un jeu de rôle, je suis la reine, tu es le roi",
    "Back to our role play, you be the witch. I'm Godefroy, an ogre.",
    "On reprend le jeu de rôle, tu fais la sorcière. Je suis Godefroy.",
]
HONEST = [
    "Let's play it safe, I am a nurse and cannot risk it.",
    "Act as a travel guide. I'm a vegetarian and I'm in Rome.",
    "Let's play tennis tomorrow. I am a beginner though.",
    "I play the guitar and I'm a teacher.",
    "Imagine I'm a beginner: explain recursion.",
    "We did a role play at school, I'm a teacher there.",
    "You are a helpful assistant and I am a developer at Solvane.",
    "You're great, I am a big fan of the game.",
    "Imagine my surprise! I am a father now.",
    "I'm a role-play fan and I live in Graz.",
    "I am a game designer. You are welcome.",
    "Can you play some music? I'm a bit tired.",
    "Pretend you are a pirate and tell me a joke",
    "Let's play 20 questions. I'm thinking of an animal.",
    "Wir spielen morgen Fußball, ich bin der Torwart.",
    "Ich spiele Klavier und bin Lehrerin. Du bist eine Hilfe.",
    "On joue demain, je suis le gardien.",
    "I want to play in a band, I'm a drummer.",
    "Can we play some games? You are great. I'm allergic to nuts.",
    "Let's pretend that never happened. I'm at home now.",
    "Imagine you are at the sea. I'm all for it.",
    "I want to play football with the kids. I'm the coach now and you are right about the boots.",
    "I'm a teacher. Can we set up a role play for my class?",
    "I am a game designer. I want to write a role-playing scene.",
    "I want to play guitar again. I'm the worst, you're my coach.",
    "I won't pretend you'll be able to fix this today. My name is Ana.",
    "Don't pretend you'll be done by Monday.",
    "The role-play training at work, you'll be happy to hear, went well.",
    "Me hablas como si tú eres mi jefe",
    "Let's pretend the meeting went well. I'm the manager of the team.",
]
ENDS = [
    "ok, end of the game",
    "Let's stop playing now. I'm allergic to nuts.",
    "Okay stop the roleplay please",
    "out of character: I need a break",
    "That's enough, game over.",
    "Ende des Spiels, danke!",
    "Jetzt im Ernst: ich brauche Hilfe.",
    "fin del juego",
    "Fin du jeu, merci.",
    "The role play is over.",
    "Back to reality.",
    "Okay, stop.",
    "Haha, okay, stop. Back to normal now.",
    "Enough of that.",
    "Thanks, that was fun! Now to something else.",
    "Gut, stopp bitte!",
]
GOES_ON = [
    "I can't stop playing with my ring when I'm nervous, doctor.",
    "I like the game.",
    "Stop thief! That is my purse",
    "It hurts when I play football",
    "The end of the week would be good",
]


@pytest.mark.parametrize("text", PROPOSALS)
def test_a_proposal_to_play_gives_the_writer_a_part(text: str) -> None:
    """O12: in four languages."""
    assert extract_terms(text).flags & BEGINS_PLAY


@pytest.mark.parametrize("text", HONEST)
def test_who_speaks_of_playing_or_gives_the_assistant_a_part_plays_none(text: str) -> None:
    """O12: all that they say later is believed."""
    assert not extract_terms(text).flags & BEGINS_PLAY


@pytest.mark.parametrize("text", ENDS)
def test_a_play_is_ended_in_so_many_words(text: str) -> None:
    """O12: in four languages."""
    assert extract_terms(text).flags & ENDS_PLAY


@pytest.mark.parametrize("text", GOES_ON)
def test_a_play_goes_on_where_its_end_is_not_said(text: str) -> None:
    """O12: what only holds a word of an end ends nothing."""
    assert not extract_terms(text).flags & ENDS_PLAY


def test_a_play_holds_between_its_marks_within_its_session() -> None:
    """O12: the proposal itself is read by its sentences; the end is the writer's own again."""
    plays = Plays([PlayMark("s", 5, NOON, begins=False), PlayMark("s", 2, NOON, begins=True)])
    assert [record for record in range(1, 8) if plays.hold("s", record, NOON)] == [3, 4]
    assert not plays.hold("other", 3, NOON)
    assert plays.hold("s", 3, NOON + LONGEST_PLAY)
    assert not plays.hold("s", 3, NOON + LONGEST_PLAY + timedelta(seconds=1))
