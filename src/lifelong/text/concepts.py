"""What everyday words are about, in several languages: "rent", "flat" and "Wohnung" are about a home.

People ask with other words than they told, and often in another language; the bundled word vectors are English,
and know little of it. A concept is a set of words any of which may be asked for by another one.
"""

from __future__ import annotations

from functools import cache, lru_cache

from lifelong.text.stems import stem, stem_in

MIN_COMPOUND_PART = 5  # letters of a German word that a longer one ends with: "Mietwohnung"

_LANGUAGES = ("english", "german", "spanish", "french")
_CONCEPTS = """
live living reside resident home house flat apartment address rent tenant landlord lease move moved moving
relocate neighbourhood | wohnen wohne wohnt gewohnt wohnung zuhause daheim haus adresse anschrift miete mieten
vermieter umzug umziehen umgezogen einzug eingezogen wohnort | vivir vivo vive vivimos casa piso vivienda
apartamento direccion domicilio alquiler alquilar casero mudanza mudar mudarse | habiter habite appartement
maison adresse loyer louer demenager demenagement logement;
job work employer company employed employment occupation profession career position hire hired | arbeit arbeiten
arbeite job beruf stelle firma arbeitgeber angestellt | trabajo trabajar empleo empresa puesto oficio profesion
empleador contratar | travail travailler emploi metier poste entreprise employeur embauche;
salary wage income earn earning payroll | gehalt lohn verdienen verdiene einkommen | sueldo salario ganar nomina
| salaire gagner revenu paie;
budget limit maximum cap ceiling afford spend stretch | budget hochstens maximal obergrenze ausgeben limit
grenze | presupuesto tope maximo limite gastar | budget maximum plafond limite depenser;
cost price fee quote expensive cheap | kosten kostet preis gebuhr teuer billig | precio coste costo costar
cuesta tarifa caro barato | cout prix couter tarif cher;
car vehicle automobile drive driving | auto wagen fahrzeug pkw | coche carro vehiculo furgoneta | voiture
vehicule conduire;
train bus tram transport commute metro subway | zug bahn bus strassenbahn ubahn pendeln | tren autobus tranvia
metro | train bus tramway metro;
bike bicycle cycling cycle | fahrrad rad radeln | bici bicicleta | velo bicyclette;
eat eating food diet vegetarian vegan meat fish meal | essen ernahrung vegetarisch vegetarier vegan fleisch
fisch mahlzeit | comer comida dieta vegetariano vegetariana vegano carne pescado | manger nourriture regime
vegetarien viande poisson repas;
restaurant dinner lunch breakfast dining | restaurant abendessen mittagessen fruhstuck | restaurante cena
almuerzo desayuno | restaurant diner dejeuner;
cook cooking recipe bake kitchen oven | kochen rezept backen kuche herd | cocinar cocina receta hornear horno |
cuisiner recette cuisine four;
drink coffee tea beer wine alcohol | trinken kaffee tee bier wein alkohol | beber cafe cerveza vino alcohol |
boire cafe biere vin alcool;
allergy allergic intolerance intolerant anaphylaxis epipen | allergie allergisch unvertraglichkeit vertrage
vertragt | alergia alergico alergica intolerancia intolerante | allergie allergique;
doctor physician gp specialist clinic surgeon cardiologist dermatologist | arzt arztin facharzt praxis hausarzt
spezialist kardiologe hautarzt | medico medica doctor doctora especialista clinica cardiologo dermatologo
alergologo | medecin docteur specialiste clinique cardiologue;
dentist tooth teeth dental | zahnarzt zahn zahne | dentista diente muela | dentiste dent;
medicine medication drug tablet pill prescription dose antibiotic | medikament arznei tablette rezept dosis |
medicamento medicina pastilla receta dosis | medicament comprime ordonnance;
ill illness sick disease condition diagnosis pain hurt | krank krankheit diagnose schmerz schmerzen | enfermo
enferma enfermedad diagnostico dolor | malade maladie diagnostic douleur;
hospital surgery operation | krankenhaus operation klinik | hospital operacion cirugia | hopital operation
chirurgie;
appointment booking slot visit reschedule | termin verschoben | cita reserva turno aplazar | rendezvous
reservation;
school kindergarten nursery pupil teacher | schule kindergarten kita lehrer lehrerin schuler | colegio escuela
instituto guarderia maestro profesor | ecole creche eleve professeur;
study university college degree exam student thesis | studium studieren universitat uni prufung student |
estudiar universidad carrera examen estudiante | etudier universite examen etudiant;
class course lesson signed enrol club | kurs unterricht verein angemeldet | clase curso apuntar apuntado | cours
inscrire club;
child kid son daughter baby | kind kinder sohn tochter baby | hijo hija nino nina bebe | enfant fils fille bebe;
partner wife husband spouse girlfriend boyfriend fiance | partner partnerin ehefrau ehemann freundin | pareja
esposa esposo marido mujer novia novio | conjoint epouse epoux mari compagne;
mother mum mom mama | mutter mama mutti | madre mama | mere maman;
father dad papa | vater papa vati | padre papa | pere papa;
brother sister sibling | bruder schwester geschwister | hermano hermana | frere soeur;
friend mate buddy pal | freund kumpel | amigo amiga | ami amie copain;
pet dog cat rabbit animal | haustier hund katze tier kater | mascota perro gato animal perra gata | animal chien
chat;
holiday vacation trip travel journey flight fly | urlaub reise ferien flug verreisen | vacaciones viaje vuelo
viajar | vacances voyage vol;
hotel stay accommodation hostel | hotel unterkunft | hotel alojamiento | hotel hebergement;
wedding marry married marriage bride groom engaged | hochzeit heiraten heirat verheiratet verlobt | boda casarse
casado casada matrimonio | mariage marier epouser;
birthday born age | geburtstag geboren | cumpleanos nacido nacer edad | anniversaire naissance;
gift present | geschenk schenken | regalo regalar | cadeau offrir;
party celebrate celebration guest invite | feier fest feiern party einladen gast | fiesta celebrar invitar
invitado | fete celebrer inviter;
phone telephone mobile call ring hotline | telefon handy anrufen anruf | telefono movil llamar llamada |
telephone appeler;
email mail inbox | email mail | correo email | courriel mail;
sport exercise training gym run running marathon workout swim | sport training laufen lauf schwimmen | deporte
entrenamiento gimnasio correr nadar surf | sport entrainement courir nager;
music instrument piano guitar cello violin conservatory band choir sing | musik instrument klavier gitarre geige
chor singen | musica instrumento piano guitarra violin chelo conservatorio coro cantar | musique instrument
piano guitare violon chorale chanter;
film movie series watch cinema | film serie kino | pelicula serie cine | film serie cinema;
book novel author reading | buch roman autor lesen | libro novela autor leer | livre roman auteur lire;
sleep bed nap insomnia | schlafen bett | dormir cama | dormir lit;
clothes shoe shirt dress size wear | kleidung schuhe hemd kleid grosse | ropa zapatos camisa vestido talla |
vetements chaussures chemise taille;
shop shopping groceries supermarket | einkaufen einkauf supermarkt | compra comprar supermercado | courses
supermarche;
buy bought purchase sell sold | kaufen gekauft verkaufen verkauft | comprar comprado vender vendido | acheter
achete vendre;
furniture sofa table chair | mobel sofa tisch stuhl | mueble sofa mesa silla | meuble canape table chaise;
insurance insured policy cover | versicherung versichert | seguro asegurado | assurance;
bank account loan mortgage debt | bank konto kredit hypothek | banco cuenta prestamo hipoteca | banque compte
pret;
contract sign signed agreement | vertrag unterschrieben unterschreiben | contrato firmar firmado | contrat
signer;
internet wifi broadband provider router | internet wlan anbieter router | internet wifi operador | internet wifi
fournisseur;
blood pressure result sugar iron | blut blutdruck werte | sangre tension analisis | sang tension analyse;
language speak english german spanish french | sprache sprechen englisch deutsch spanisch franzosisch | idioma
lengua hablar ingles aleman espanol frances | langue parler anglais allemand espagnol francais;
plan planning intend | plan vorhaben | plan pensar | projet prevoir;
release rollout launch ship deploy deployment publish | veroffentlichung auslieferung | lanzamiento despliegue
publicar | sortie deploiement publier;
staging environment sandbox preview | testumgebung umgebung | entorno pruebas | environnement;
test suite spec e2e unit integration browser;
database db postgres postgresql sqlite mysql mariadb duckdb mongodb storage | datenbank speicher | base
almacenamiento;
bug error failure crash broken fail exception | fehler absturz kaputt | fallo error averia | erreur panne bogue;
fix repair solve resolve workaround | reparieren beheben losung | arreglar reparar solucion | reparer corriger
solution;
cause reason root why | ursache grund | causa motivo razon | cause raison;
login logged signin session logout auth authentication | anmelden angemeldet anmeldung | sesion acceso |
connexion;
setting config configuration option parameter flag | einstellung konfiguration | ajuste configuracion opcion |
reglage option;
documentation docs readme changelog notes guide manual | dokumentation anleitung handbuch | documentacion guia
manual | documentation guide manuel;
customer client shopper | kunde kundin kunden | cliente clientes | client;
refund reimburse repay | erstattung erstatten zuruckzahlen | reembolso devolver | remboursement rembourser;
invoice bill billing charged | rechnung abrechnung | factura cobro | facture;
rule policy guideline convention | regel vorschrift richtlinie | norma regla politica | regle consigne;
approve approval permission signoff | genehmigen genehmigung erlaubnis freigabe | aprobar aprobacion permiso |
approuver autorisation;
deadline due | frist fallig stichtag | plazo vence | echeance delai;
meeting standup daily scrum sync | besprechung treffen sitzung | reunion | reunion;
responsible charge owner owns lead maintainer assigned takes | verantwortlich zustandig ubernimmt | responsable
encargado encargada | responsable charge;
colleague teammate coworker team | kollege kollegin team | companero companera equipo | collegue equipe;
boss manager supervisor | chef chefin vorgesetzter | jefe jefa | chef patron;
replace replacement successor substitute instead | ersatz nachfolger statt | sustituir reemplazo | remplacer;
version upgrade update bump | version aktualisierung | version actualizar | version;
library dependency package module | bibliothek paket | biblioteca paquete | bibliotheque paquet;
server host machine cluster | server rechner maschine | servidor maquina | serveur machine;
backup dump restore snapshot | sicherung backup | copia respaldo | sauvegarde;
alert monitor monitoring pager oncall | alarm uberwachung bereitschaft | alerta guardia | alerte astreinte;
slow fast quick latency performance speed | langsam schnell geschwindigkeit | lento rapido velocidad | lent
rapide vitesse;
memory ram oom | arbeitsspeicher | memoria | memoire;
schedule cron nightly interval frequency often poll polling | zeitplan intervall haufig | horario intervalo
frecuencia | horaire intervalle;
retention keep kept delete purge days | aufbewahren loschen | conservar borrar | conserver supprimer;
file folder directory path | datei ordner verzeichnis | archivo carpeta fichero | fichier dossier;
commit branch pull merge pr | zweig | rama;
review reviewer reviews | prufen prufer | revisar revisor | relire relecteur;
style format formatter lint indent width column line;
upload import ingest csv | hochladen importieren | subir importar | importer televerser;
export download | exportieren herunterladen | exportar descargar | exporter telecharger;
api endpoint webhook route request;
sensor gauge meter probe | sensor messgerat zahler | sensor medidor | capteur;
order delivery shipping shipment parcel | bestellung lieferung versand paket | pedido envio entrega paquete |
commande livraison colis;
plan subscription tier trial | tarif abo abonnement | plan suscripcion prueba | abonnement essai;
phone android ios iphone mobile device | gerat;
"""
"""Concepts end with ";". Words are folded; those of a language stand between "|", in the languages' order."""


@lru_cache(maxsize=20_000)
def concepts_of(word: str) -> frozenset[int]:
    """Return the numbers of the concepts that a folded word is about."""
    known = _concepts()
    found = frozenset[int]().union(*(known.get(one, ()) for one in _stems(word)))
    if found or len(word) < 2 * MIN_COMPOUND_PART - 1:
        return found
    ends = (word[start:] for start in range(3, len(word) - MIN_COMPOUND_PART + 1))
    return next((known[one] for end in ends if (one := ("german", _stem("german", end))) in known), found)


def _stems(word: str) -> list[tuple[str, str]]:
    return [(language, _stem(language, word)) for language in _LANGUAGES]


def _stem(language: str, word: str) -> str:
    return stem(word) if language == "english" else stem_in(language, word)


@cache
def _concepts() -> dict[tuple[str, str], frozenset[int]]:
    found: dict[tuple[str, str], frozenset[int]] = {}
    for number, concept in enumerate(_CONCEPTS.split(";")):
        for language, words in zip(_LANGUAGES, concept.split("|"), strict=False):
            for word in words.split():
                key = (language, _stem(language, word))
                found[key] = found.get(key, frozenset()) | {number}
    return found
